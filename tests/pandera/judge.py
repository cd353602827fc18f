"""Runs printed modules on their files: where Pandera says that a rule is broken."""

import base64
import json
import sys
import traceback
import types
import warnings

import pandas
import pandera.pandas as pa


def judged(case, path):
    module = types.ModuleType("schemas")
    exec(case["module"], module.__dict__)
    rows, failures = 0, []
    for name in [name.removesuffix("_schema") for name in vars(module) if name.endswith("_schema")]:
        frame = getattr(module, f"{name}_schema").validate(getattr(module, f"read_{name}")(path))
        rows += len(frame)
        constraints = getattr(module, f"{name}_constraints", None)
        if constraints is not None:
            failures += broken(constraints, frame)
    return {"rows": rows, "failures": failures}


def broken(constraints, frame):
    try:
        constraints.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        return [
            [row.column, None if row.check == "not_nullable" else int(row.check_number), int(row.index)]
            for row in error.failure_cases.itertuples()
        ]
    return []


def main():
    warnings.simplefilter("error")
    # Rows that are too long are cut, as they are here.
    warnings.simplefilter("ignore", pandas.errors.ParserWarning)
    with open("/var/inputs/cases.json", encoding="utf-8") as file:
        cases = json.load(file)
    results = []
    for number, case in enumerate(cases):
        path = f"/tmp/{number}-{case['fileName']}"
        with open(path, "wb") as file:
            file.write(base64.b64decode(case["bytes"]))
        try:
            results.append(judged(case, path))
        except Exception:
            results.append({"fault": traceback.format_exc(limit=-4)})
    with open("/var/outputs/results", "w", encoding="utf-8") as file:
        json.dump(results, file)


sys.exit(main())
