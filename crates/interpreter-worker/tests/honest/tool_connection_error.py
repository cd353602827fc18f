# value: "the service is away"
try:
    value = await anything("/v1/away")
except ConnectionError:
    value = "the service is away"
except (TimeoutError, RuntimeError) as e:
    value = f"failed: {e}"
value
