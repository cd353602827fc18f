# line: 3
first = (await orders())[0]
first.total
