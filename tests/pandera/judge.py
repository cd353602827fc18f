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
    frame = module.s_schema.validate(module.read_s(path))
    constraints = getattr(module, "s_constraints", None)
    failures = []
    if constraints is not None:
        try:
            constraints.validate(frame, lazy=True)
        except pa.errors.SchemaErrors as error:
            for row in error.failure_cases.itertuples():
                number = None if row.check == "not_nullable" else int(row.check_number)
                failures.append([row.column, number, int(row.index)])
    return {"rows": len(frame), "failures": failures}


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
