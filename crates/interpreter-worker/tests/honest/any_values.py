# value: ["a", "b"]
data = await anything("/v1/things")
[thing["name"] for thing in data["things"]]
