# value: "refunded 1 of 1, 125.00 in all"
returned = [row for row in await orders() if row["status"] == "returned"]
done = 0
amount = 0.0
for row in returned:
    if await refund(row["id"], row["total"]):
        done += 1
        amount += row["total"]
        who = await customer(row["customer"])
        if who["email"]:
            await send_mail(who["email"], "Your refund", f"We sent {row['total']:.2f} back.")
f"refunded {done} of {len(returned)}, {amount:.2f} in all"
