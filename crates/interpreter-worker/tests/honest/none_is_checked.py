# value: "ada@shop.example"
person = await customer("c1")
email = person["email"]
if email is None:
    answer = "no address"
else:
    answer = email.lower().strip()
answer
