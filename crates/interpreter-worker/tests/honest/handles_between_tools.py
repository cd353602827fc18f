# value: "2 rows were dropped from orders.csv"
handle = await sample_file()
result = await clean_orders(handle)
f"{result['dropped']} rows were dropped from {handle['name']}"
