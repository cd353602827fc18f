# line: 3
rates = []
rates.append(await exchange_rate(978))
rates
