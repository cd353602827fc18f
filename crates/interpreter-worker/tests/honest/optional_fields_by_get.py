# value: "gift;none;none"
";".join(row.get("note", "none") for row in await orders())
