# value: "no rate: unknown currency QQQ"
try:
    rate = await exchange_rate("QQQ")
    answer = f"the rate is {rate}"
except ValueError as error:
    answer = f"no rate: {error}"
answer
