# line: 2
send_mail("a@shop.example", "hello", "text")
await stock()
