# Goes before the program that starts the harness: others may write the objects that are mounted here.
import hashlib, os, sys

def digest(folder):
    whole = hashlib.sha256()
    for name in sorted(name for name in os.listdir(folder) if not name.startswith("..")):
        with open(os.path.join(folder, name), "rb") as file:
            whole.update(f"{name}\0{hashlib.sha256(file.read()).hexdigest()}\n".encode())
    return whole.hexdigest()

for folder, variable in [("/harness", "CODEGEN_HARNESS_SHA256"), ("/job", "CODEGEN_JOB_SHA256")]:
    if digest(folder) != os.environ.get(variable):
        sys.exit(f"{folder} is not what the operator wrote: somebody has replaced the object that is mounted there")
del digest, folder, variable
