# value: ["PermissionError", "OSError", "FileNotFoundError", "ModuleNotFoundError", "UnboundLocalError", "ValueError"]
caught = []
try:
    raise PermissionError("no")
except PermissionError as error:
    caught.append(type(error).__name__)
try:
    raise PermissionError("no")
except OSError:
    caught.append("OSError")
try:
    raise FileNotFoundError("no")
except FileNotFoundError as error:
    caught.append(type(error).__name__)
try:
    raise ModuleNotFoundError("no")
except ImportError as error:
    caught.append(type(error).__name__)
try:
    raise UnboundLocalError("no")
except NameError as error:
    caught.append(type(error).__name__)
try:
    b"\xff".decode()
except ValueError as error:
    caught.append("ValueError")
caught
