//! Both sides: what is found, and what is left alone. Each rule has honest code beside it that does the same in a way that stays.

use super::*;
use rstest::rstest;

fn whats(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[rstest]
#[case("import os\ndef f():\n    os._exit(0)\n", 3)]
#[case("from os import _exit\n", 1)]
#[case("from os import _exit as bye\ndef f():\n    bye(0)\n", 1)]
#[case("import os as o\ndef f():\n    o._exit(0)\n", 3)]
#[case("import os\nend = os._exit\n", 2)]
#[case("import os\ngetattr(os, '_ex' + 'it')(0)\n", 2)]
#[case("import shutil\nleave = shutil.os._exit\n", 2)]
#[case("import os\nos.abort()\n", 2)]
fn a_program_that_ends_past_its_buffers_is_found(#[case] source: &str, #[case] line: u32) {
    finds(source, line, Rule::NoHardExit);
}

#[rstest]
#[case("import sys\nif 'pytest' in sys.modules:\n    x = 1\n", 2)]
#[case("import sys\nx = sys.modules.get('_pytest')\n", 2)]
#[case("import sys\nx = sys.modules['pytest']\n", 2)]
#[case("import pytest\n", 1)]
#[case("from _pytest.runner import runtestprotocol\n", 1)]
#[case("import _pytest.assertion.rewrite\n", 1)]
#[case("import conftest\n", 1)]
#[case("def f():\n    import pytest\n    pytest.exit('done', 0)\n", 2)]
#[case("import importlib\nimportlib.import_module('py' + 'test')\n", 2)]
#[case("exec('import pytest')\n", 1)]
#[case("import os\nif os.environ.get('PYTEST_CURRENT_TEST'):\n    x = 1\n", 2)]
#[case("pytest_plugins = ['x']\n", 1)]
#[case("pytest_plugins: list = ['solution']\n", 1)]
#[case("pytest_plugins, a = ['solution'], 1\n", 1)]
#[case("from os import path as pytest_plugins\n", 1)]
#[case("if (pytest_plugins := ['x']):\n    pass\n", 1)]
fn a_program_that_knows_of_tests_is_found(#[case] source: &str, #[case] line: u32) {
    finds(source, line, Rule::NoTestAwareness);
}

#[rstest]
#[case("import sys\nsys.settrace(None)\n", 2)]
#[case("import sys\nsys.meta_path.insert(0, x)\n", 2)]
#[case("import threading\nthreading.settrace(f)\n", 2)]
#[case("import builtins\nbuiltins.sum = lambda x: 0\n", 2)]
#[case("import builtins\nsetattr(builtins, 'len', f)\n", 2)]
#[case("__builtins__['len'] = f\n", 1)]
fn a_program_that_changes_how_other_code_runs_is_found(#[case] source: &str, #[case] line: u32) {
    finds(source, line, Rule::NoTracing);
}

#[rstest]
#[case("from unittest import mock\nx = mock.ANY\n", 2)]
#[case("from unittest.mock import ANY\n", 1)]
#[case("A = type('A', (int,), {'__eq__': lambda self, other: 1 > 0})\n", 1)]
#[case(
    "class A(int):\n    def __eq__(self, other):\n        return isinstance(other, object)\n",
    2
)]
#[case("class A:\n    def __eq__(self, other):\n        return True\n", 2)]
#[case(
    "class A:\n    def __eq__(self, other):\n        '''Equal.'''\n        return len('x') == 1\n",
    2
)]
#[case("class A:\n    def __ne__(self, other):\n        return False\n", 2)]
#[case("class A:\n    __eq__ = lambda self, other: True\n", 2)]
fn a_value_that_equals_everything_is_found(#[case] source: &str, #[case] line: u32) {
    finds(source, line, Rule::NoUniversalEquality);
}

#[rstest]
#[case("import sys\nsys.exit(0)\n", 2)]
#[case("raise SystemExit(0)\n", 1)]
fn a_program_that_ends_when_it_is_imported_is_found(#[case] source: &str, #[case] line: u32) {
    finds(source, line, Rule::Importable);
}

fn finds(source: &str, line: u32, rule: Rule) {
    let found = solution_findings(&Module::parse(source).unwrap());
    assert!(
        found
            .iter()
            .any(|finding| finding.line == line && finding.rule == rule),
        "{source}\n{}",
        whats(&found)
    );
}

#[rstest]
#[case("import sys\ndef main():\n    return 0\nif __name__ == '__main__':\n    sys.exit(main())\n")]
#[case(
    "import sys\ndef main():\n    if not sys.argv[1:]:\n        sys.exit('no file')\n    raise SystemExit(2)\n"
)]
#[case("import os\nprint(os.environ.get('HOME'), os.getpid(), os.path.join('a', 'b'), os.listdir('.'))\n")]
#[case(
    "import sys\nsys.stdout.reconfigure(encoding='utf-8')\nsys.path.insert(0, '.')\nsys.setrecursionlimit(5000)\n"
)]
#[case("import re\nPATTERN = re.compile(r'a+')\ndf.eval('a + b')\nmodel.eval()\n")]
#[case("def f(args, name):\n    return getattr(args, name)\n")]
#[case("def f(x):\n    return getattr(x, 'name', None), hasattr(x, '__iter__')\n")]
#[case(
    "class A:\n    def __eq__(self, other):\n        return isinstance(other, A) and self.x == other.x\n    def __repr__(self):\n        return self.__class__.__name__\n    def __exit__(self, *a):\n        return True\n"
)]
#[case(
    "class A:\n    def __bool__(self):\n        return bool(self.x)\n    def __hash__(self):\n        return hash(self.x)\n"
)]
#[case("import signal\nsignal.signal(signal.SIGTERM, handler)\n")]
#[case("import atexit\natexit.register(file.close)\n")]
#[case("import inspect\ninspect.signature(f)\ninspect.isfunction(f)\n")]
#[case("import gc\ngc.collect()\n")]
#[case("import threading\nthreading.Thread(target=f).start()\n")]
#[case("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(1)'], check=True)\n")]
#[case(
    "'''Run with pytest; never touch os._exit or conftest.py.'''\ndef f():\n    '''See conftest.py.'''\n    return 'pytest is a test runner'\n"
)]
#[case("import pandas as pd\npd.options.display.max_rows = 10\ndf.columns = ['a']\ndf.index.name = 'x'\n")]
#[case("from os import environ, path\nfrom sys import argv, stdin\n")]
#[case("import builtins\nx = builtins.open\n")]
#[case("import importlib\nyaml = importlib.import_module('yaml')\n")]
#[case("for name in ['json', 'csv']:\n    importlib.import_module(name)\n")]
#[case("import logging\nlogging.getLogger(__name__).info('x')\n")]
#[case("globals()['TABLE'] = 1\n")]
#[case("import unittest.mock\n")]
#[case("from operator import attrgetter, itemgetter\nrows.sort(key=attrgetter('name', 'date.year'))\n")]
#[case(
    "class A:\n    def __eq__(self, other):\n        if not isinstance(other, A):\n            return NotImplemented\n        return self.x == other.x\n"
)]
#[case("class A:\n    def __bool__(self):\n        return bool(self.rows)\n")]
#[case("import code_table as code\ndef f(x):\n    return vars(x), type(x), code.lookup(x)\n")]
#[case("Row = type('Row', (tuple,), {'width': 3})\n")]
#[case(
    "import sys\nthis = sys.modules[__name__]\nhas_numpy = 'numpy' in sys.modules\nsys.modules.pop('x', None)\n"
)]
#[case("import ctypes\nlibc = ctypes.CDLL(None)\n")]
#[case("import os, signal\ndef stop(pid):\n    os.kill(pid, signal.SIGTERM)\n")]
#[case("import importlib\ndef load(name):\n    return importlib.import_module(name)\n")]
#[case(
    "import os\ndef child(work):\n    if os.fork() == 0:\n        work()\n        os._exit(0)\n    os.wait()\n"
)]
#[case(
    "import ast\ndef value(text, names):\n    return eval(compile(ast.parse(text, mode='eval'), 'x', 'eval'), {'__builtins__': {}}, names)\n"
)]
#[case(
    "from operator import attrgetter\ndef order(rows, key):\n    return sorted(rows, key=attrgetter(key))\n"
)]
#[case(
    "import inspect, sys\ndef here():\n    return inspect.currentframe().f_back.f_lineno, sys._getframe().f_code.co_name\n"
)]
#[case("import sys\nsys.excepthook = log_it\n")]
#[case("def all_readers():\n    return {cls.__name__: cls for cls in Reader.__subclasses__()}\n")]
#[case("import signal\ndef limit():\n    signal.alarm(5)\n")]
#[case("import timeit\nseconds = timeit.timeit(work, number=1)\n")]
#[case(
    "class Ok:\n    def __bool__(self):\n        return True\n    def __eq__(self, other):\n        return isinstance(other, Ok)\n"
)]
#[case("class A:\n    def __eq__(self, other):\n        return NotImplemented\n")]
#[case("class A:\n    def __eq__(self, other):\n        raise TypeError('no order')\n")]
#[case("IGNORED = ['conftest.py', 'pytest', 'pytest.ini']\n")]
#[case("import os\nnames = [name for name in dir(os) if callable(getattr(os, name))]\n")]
#[case("def make(name, members):\n    return type(name, (object,), members)\n")]
#[case("import sys\nif sys.version_info < (3, 9):\n    raise SystemExit('too old')\n")]
fn plain_programs_are_left_alone(#[case] source: &str) {
    let found = solution_findings(&Module::parse(source).unwrap());
    assert!(found.is_empty(), "{source}\n{}", whats(&found));
}

#[rstest]
#[case("import sys\nsys.exit(0)\n", 2, "under the main guard")]
#[case("import os\nos._exit(0)\n", 2, "without writing")]
#[case("import pytest\npytest.exit('done')\n", 2, "out of every session")]
#[case(
    "import pytest\ndef test_a():\n    if f():\n        pytest.exit('done')\n",
    4,
    "out of every session"
)]
#[case(
    "import pytest\npytest.skip('all', allow_module_level=True)\n",
    2,
    "out of every session"
)]
#[case(
    "import pytest\n@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n",
    2,
    "out of every session"
)]
#[case(
    "import pytest\n@pytest.mark.skip(reason='x')\ndef test_a():\n    assert f() == 1\n",
    2,
    "out of every session"
)]
#[case(
    "import pytest\npytestmark = pytest.mark.skipif(True, reason='x')\n",
    2,
    "out of every session"
)]
#[case(
    "import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert f() == 1\n",
    2,
    "out of every session"
)]
#[case(
    "from pytest import mark\n@mark.xfail(reason='x')\ndef test_a():\n    assert f() == 1\n",
    2,
    "out of every session"
)]
#[case(
    "import pytest\ndef test_a():\n    pytest.skip('x')\n    assert f() == 1\n",
    3,
    "out of every session"
)]
#[case(
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.skipTest('x')\n        self.assertTrue(f())\n",
    4,
    "out of every session"
)]
#[case(
    "import unittest\n@unittest.skip('x')\nclass TestA(unittest.TestCase):\n    pass\n",
    2,
    "out of every session"
)]
#[case("def test_a():\n    f()\n", 1, "asserts nothing")]
#[case(
    "class TestA:\n    def test_a(self):\n        print(f())\n",
    2,
    "asserts nothing"
)]
#[case(
    "def helper():\n    return 1\ndef test_a():\n    helper()\n",
    3,
    "asserts nothing"
)]
#[case("async def test_a():\n    await f()\n", 1, "asserts nothing")]
#[case("def test_a():\n    f()\n    assert True\n", 1, "asserts nothing")]
#[case("def test_a():\n    f()\n    assert 1 == 1\n", 1, "asserts nothing")]
#[case(
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual\n        f()\n",
    4,
    "never called"
)]
#[case(
    "def test_a(mocker):\n    spy = mocker.spy(x, 'f')\n    f()\n    spy.assert_called_once\n",
    4,
    "never called"
)]
#[case("def test_a():\n    assert (f() == 1, 'message')\n", 2, "always holds")]
#[case("def test_a():\n    assert f() == 1 or True\n", 2, "always holds")]
#[case(
    "def test_a():\n    try:\n        assert f() == 1\n    except AssertionError:\n        pass\n",
    4,
    "is caught here"
)]
#[case(
    "def test_a():\n    try:\n        assert f() == 1\n    except:\n        return\n",
    4,
    "is caught here"
)]
#[case("import sys\nsys.modules['pytest'] = None\n", 2, "among the modules")]
#[case("pytest_plugins = ['solution']\n", 1, "pytest_plugins")]
#[case(
    "from _pytest.runner import runtestprotocol\n",
    1,
    "inside of the test runner"
)]
#[case(
    "class Any:\n    def __eq__(self, other):\n        return True\ndef test_a():\n    assert f() == Any()\n",
    2,
    "never looks"
)]
#[case(
    "def double(x):\n    return x * 2\ndef test_a():\n    assert double(2) == 4\n",
    3,
    "never calls the program"
)]
#[case(
    "from solution import f\ndef test_a():\n    assert 1 + 1 == 2\ndef test_b():\n    assert f() == 1\n",
    2,
    "never calls the program"
)]
fn a_suite_that_cannot_fail_is_found(#[case] source: &str, #[case] line: u32, #[case] what: &str) {
    let found = suite_findings(&Module::parse(source).unwrap());
    assert!(
        found
            .iter()
            .any(|finding| finding.line == line && finding.what.contains(what)),
        "{source}\n{}",
        whats(&found)
    );
}

#[rstest]
#[case(
    "import sys\ndef test_a(monkeypatch):\n    monkeypatch.setattr(sys, 'argv', ['solution.py', '--a', '1'])\n    assert main() == 0\n"
)]
#[case(
    "import pytest\ndef test_a():\n    with pytest.raises(SystemExit) as caught:\n        main([])\n    assert caught.value.code == 2\n"
)]
#[case(
    "import pytest\ndef test_a():\n    with pytest.raises(ValueError, match='empty'):\n        mean([])\n"
)]
#[case(
    "import subprocess, sys\ndef test_a(tmp_path):\n    done = subprocess.run([sys.executable, 'solution.py', '--a', '1'], capture_output=True)\n    assert done.returncode == 0\n"
)]
#[case(
    "import pandas as pd\nfrom pandas.testing import assert_frame_equal\ndef test_a():\n    assert_frame_equal(f(), pd.DataFrame())\n"
)]
#[case("import numpy as np\ndef test_a():\n    np.testing.assert_allclose(f(), 1.0)\n")]
#[case(
    "from unittest.mock import patch\ndef test_a():\n    with patch('solution.read') as read, patch('sys.exit') as end:\n        main()\n    read.assert_called_once()\n"
)]
#[case(
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n"
)]
#[case("def check(value):\n    assert value == 1\ndef test_a():\n    check(f())\n")]
#[case(
    "class TestA:\n    def check(self, value):\n        assert value == 1\n    def test_a(self):\n        self.check(f())\n"
)]
#[case(
    "def test_a():\n    try:\n        f()\n    except ValueError as error:\n        assert 'x' in str(error)\n    else:\n        raise AssertionError('no error')\n"
)]
#[case(
    "import pytest\ndef test_a():\n    try:\n        f()\n    except ValueError:\n        pytest.fail('error')\n"
)]
#[case(
    "import pytest\n@pytest.mark.parametrize('a', [1])\n@pytest.mark.asyncio\nasync def test_a(a):\n    assert await f(a) == a\n"
)]
#[case(
    "import importlib, sys\nimport solution\ndef test_a():\n    sys.modules.pop('solution', None)\n    importlib.reload(solution)\n    assert solution.f() == 1\n"
)]
#[case(
    "import sys\ndef test_a(monkeypatch):\n    monkeypatch.setitem(sys.modules, 'pandas', None)\n    assert f() == 1\n"
)]
#[case(
    "import importlib.util, sys\nspec = importlib.util.spec_from_file_location('solution', 'solution.py')\nmodule = importlib.util.module_from_spec(spec)\nsys.modules['solution'] = module\nsys.modules[spec.name] = module\n"
)]
#[case(
    "import builtins\ndef test_a(monkeypatch):\n    monkeypatch.setattr(builtins, 'input', lambda: '1')\n    monkeypatch.setattr('builtins.open', None)\n    assert f() == 1\n"
)]
#[case(
    "import pytest, sys\ndef test_a():\n    assert f() == 1\nif __name__ == '__main__':\n    sys.exit(pytest.main([__file__]))\n"
)]
#[case("def test_a():\n    result = f()\n    assert result == f()\n    assert isinstance(result, int)\n")]
#[case(
    "import runpy\ndef test_a(capsys):\n    runpy.run_path('solution.py', run_name='__main__')\n    assert capsys.readouterr().out == '1'\n"
)]
#[case("def test_a():\n    args = type('Args', (), {'n': 1})()\n    assert f(args) == 1\n")]
#[case("import pytest\n@pytest.fixture(autouse=True)\ndef clean(tmp_path):\n    yield tmp_path\n")]
#[case(
    "import pytest, sys\n@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a():\n    assert f() == 1\n"
)]
#[case("import pytest\n@pytest.mark.xfail(BROKEN, reason='x')\ndef test_a():\n    assert f() == 1\n")]
#[case(
    "import pytest\ndef test_a():\n    if not HAS_LOCALE:\n        pytest.skip('no locale')\n    assert f() == 1\n"
)]
#[case("import pytest\npandas = pytest.importorskip('pandas')\ndef test_a():\n    assert f() == 1\n")]
#[case(
    "import os\ndef test_a():\n    pid = os.fork()\n    if pid == 0:\n        os._exit(f())\n    assert os.waitpid(pid, 0)[1] == 0\n"
)]
#[case(
    "import multiprocessing, os, signal\ndef test_a():\n    child = multiprocessing.Process(target=f)\n    child.start()\n    os.kill(child.pid, signal.SIGTERM)\n    child.join()\n    assert child.exitcode is not None\n"
)]
#[case(
    "import subprocess, sys\ndef test_a():\n    subprocess.run([sys.executable, 'solution.py'], check=True)\n"
)]
#[case("from datetime import datetime\ndef test_a():\n    datetime.strptime(f(), '%Y-%m-%d')\n")]
#[case("import json\ndef test_a():\n    json.loads(f())\n")]
#[case("def test_a():\n    int(f())\n")]
#[case("def test_a():\n    validate(f())\n")]
#[case("def test_a():\n    main([])\ndef test_b():\n    assert f() == 1\n")]
#[case("def test_a():\n    main([])\n    assert True\ndef test_b():\n    assert f() == 1\n")]
#[case(
    "def test_a():\n    try:\n        assert f() == 2\n    except AssertionError:\n        pass\n    else:\n        raise AssertionError('it must not be 2')\n"
)]
#[case(
    "import pytest\ndef test_a():\n    for text in ('', 'x'):\n        try:\n            assert validate(text)\n        except Exception:\n            continue\n        pytest.fail(text)\n"
)]
#[case(
    "from _pytest.monkeypatch import MonkeyPatch\nfrom _pytest.capture import CaptureFixture\ndef test_a(monkeypatch: MonkeyPatch, capsys: CaptureFixture[str]) -> None:\n    assert f() == 1\n"
)]
#[case(
    "import pytest\ndef test_a(monkeypatch):\n    def leave(code):\n        raise SystemExit(code)\n    monkeypatch.setattr('sys.exit', leave)\n    with pytest.raises(SystemExit):\n        main([])\n"
)]
#[case(
    "def pytest_generate_tests(metafunc):\n    metafunc.parametrize('x', [1])\ndef test_a(x):\n    assert f(x) == x\n"
)]
#[case(
    "import importlib.util\nspec = importlib.util.spec_from_file_location('program', PATH / 'solution.py')\nprogram = importlib.util.module_from_spec(spec)\ndef test_a():\n    assert program.g() == 1\n"
)]
#[case(
    "import pytest\n@pytest.fixture\ndef result():\n    return f()\ndef test_a(result):\n    assert result == 1\n@pytest.mark.usefixtures('result')\ndef test_b():\n    assert OUT.exists()\n"
)]
#[case(
    "import unittest\nclass Base(unittest.TestCase):\n    def setUp(self):\n        self.result = f()\nclass TestA(Base):\n    def test_a(self):\n        self.assertEqual(self.result, 1)\n"
)]
#[case(
    "import pytest\n@pytest.fixture(autouse=True)\ndef run_it(tmp_path):\n    main([])\ndef test_a(tmp_path):\n    assert list(tmp_path.iterdir())\n"
)]
#[case("def test_a():\n    value = f()\n    assert value == value\n")]
fn plain_suites_are_left_alone(#[case] source: &str) {
    // What the suites call: names of the program.
    let source = format!("from solution import f, main, mean, validate\n{source}");
    let found = suite_findings(&Module::parse(&source).unwrap());
    assert!(found.is_empty(), "{source}\n{}", whats(&found));
}
