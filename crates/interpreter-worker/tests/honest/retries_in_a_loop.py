# value: 1.1
result = None
for code in ["QQQ", "YYY", "EUR"]:
    try:
        result = await exchange_rate(code)
        break
    except Exception as e:
        print(f"{code} failed: {e}")
result
