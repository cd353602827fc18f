import uuid


def test_another_argument_each_time(program):
    program({"data": uuid.uuid4()})


def test_same_argument(program):
    assert program(files={"data": "1\n"}).exit_code == 0
