//! Both sides: what is found, and what is left alone.

use super::*;
use rstest::rstest;

fn whats(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| finding.line.to_string() + ": " + &finding.what + "\n")
        .collect()
}

#[rstest]
#[case("import os\ndef f():\n    os._exit(0)\n", 3)]
#[case("from os import _exit\n", 1)]
#[case("from os import _exit as bye\ndef f():\n    bye(0)\n", 1)]
#[case("import os as o\ndef f():\n    o._exit(0)\n", 3)]
#[case("import os\nend = os._exit\n", 2)]
#[case("import os\ngetattr(os, '_exit')(0)\n", 2)]
#[case("import os\ngetattr(os, '_ex' + 'it')(0)\n", 2)]
#[case("import os\nname = input()\ngetattr(os, name)(0)\n", 3)]
#[case("__import__('os')._exit(0)\n", 1)]
#[case("import importlib\nimportlib.import_module('os')._exit(0)\n", 2)]
#[case("import os\nvars(os)['_exit'](0)\n", 2)]
#[case("import os\nos.__dict__['_exit'](0)\n", 2)]
#[case("__import__(name)\n", 1)]
#[case("import os\nos.abort()\n", 2)]
#[case("import os\nos.kill(os.getpid(), 9)\n", 2)]
#[case("import os\nos.execv('/bin/true', [])\n", 2)]
#[case("import os\nif os.fork():\n    pass\n", 2)]
#[case("import sys\nif 'pytest' in sys.modules:\n    x = 1\n", 2)]
#[case("import sys\nsys.modules['solution'] = None\n", 2)]
#[case("import sys\nsys.settrace(None)\n", 2)]
#[case("import sys\nframe = sys._getframe(1)\n", 2)]
#[case("import sys\nsys.meta_path.insert(0, x)\n", 2)]
#[case("import sys\nsys.excepthook = lambda *a: None\n", 2)]
#[case("import inspect\ninspect.stack()\n", 2)]
#[case("from inspect import currentframe\n", 1)]
#[case("import gc\nfor o in gc.get_objects():\n    pass\n", 2)]
#[case("import threading\nthreading.settrace(f)\n", 2)]
#[case("import signal\nsignal.raise_signal(15)\n", 2)]
#[case("import ctypes\n", 1)]
#[case("from ctypes import util\n", 1)]
#[case("import pytest\n", 1)]
#[case("from _pytest.runner import runtestprotocol\n", 1)]
#[case("import _pytest.assertion.rewrite\n", 1)]
#[case("import conftest\n", 1)]
#[case("def f():\n    import pytest\n    pytest.exit('done', 0)\n", 2)]
#[case("import builtins\nbuiltins.sum = lambda x: 0\n", 2)]
#[case("import builtins\nsetattr(builtins, 'len', f)\n", 2)]
#[case("__builtins__['len'] = f\n", 1)]
#[case("import importlib\nimportlib.reload(x)\n", 2)]
#[case("globals()['__name__'] = 'x'\n", 1)]
#[case("x = ().__class__.__bases__[0].__subclasses__()\n", 1)]
#[case("def f():\n    pass\nf.__globals__['x'] = 1\n", 3)]
#[case("x.__class__ = Y\n", 1)]
#[case("import __main__\n", 1)]
#[case("import logging\nlogging.sys.modules['x'] = None\n", 2)]
#[case("import shutil\nleave = shutil.os._exit\n", 2)]
#[case("import sys\nsys.__dict__[name] = None\n", 2)]
#[case("import sys\nvars(sys)\n", 2)]
#[case("import operator, sys\noperator.attrgetter('mod' + 'ules')(sys)\n", 2)]
#[case("from operator import methodcaller\nmethodcaller(name)(x)\n", 2)]
#[case("import importlib\nload = importlib.import_module\n", 2)]
#[case("import pkgutil\npkgutil.resolve_name(x)\n", 2)]
#[case("import pydoc\npydoc.locate(x)\n", 2)]
#[case("import timeit\ntimeit.timeit(x)\n", 2)]
#[case("import code\ncode.InteractiveInterpreter()\n", 2)]
#[case("import runpy\nrunpy.run_path('/tmp/x.py')\n", 2)]
#[case("import traceback\ntraceback.walk_stack(None)\n", 2)]
#[case("from unittest import mock\nx = mock.ANY\n", 2)]
#[case("from unittest.mock import ANY\n", 1)]
#[case("A = type('A', (int,), {'__eq__': f})\n", 1)]
#[case("A = type('A', (int,), members)\n", 1)]
#[case(
    "class A(int):\n    def __eq__(self, other):\n        return isinstance(other, object)\n",
    2
)]
#[case("class A:\n    def __bool__(self):\n        return len('x') == 1\n", 2)]
#[case("class A:\n    def __eq__(self, other):\n        return True\n", 2)]
#[case(
    "class A:\n    def __eq__(self, other):\n        '''Equal.'''\n        return True\n",
    2
)]
#[case("class A:\n    def __ne__(self, other):\n        return False\n", 2)]
#[case("class A:\n    def __bool__(self):\n        return True\n", 2)]
#[case("class A:\n    __eq__ = lambda self, other: True\n", 2)]
#[case("exec(text)\n", 1)]
#[case("def f(x):\n    return eval(x)\n", 2)]
#[case("exec('import os\\nos._exit(0)')\n", 1)]
#[case("exec(compile(text, 'x', 'exec'))\n", 1)]
#[case("import atexit, os\natexit.register(os._exit, 0)\n", 2)]
#[case("import atexit, sys\natexit.register(lambda: sys.exit(0))\n", 2)]
#[case("import atexit, sys\ndef end():\n    sys.exit(0)\natexit.register(end)\n", 4)]
#[case("import atexit, sys\n@atexit.register\ndef end():\n    sys.exit(0)\n", 3)]
#[case("import sys\nsys.exit(0)\n", 2)]
#[case("raise SystemExit(0)\n", 1)]
#[case("import os\nif os.environ.get('PYTEST_CURRENT_TEST'):\n    x = 1\n", 2)]
#[case("open('conftest.py', 'w')\n", 1)]
#[case("open('/proc/self/fd/3', 'w')\n", 1)]
#[case("def pytest_runtest_makereport(item):\n    pass\n", 1)]
#[case("pytest_plugins = ['x']\n", 1)]
#[case("pytest_plugins: list = ['solution']\n", 1)]
#[case("pytest_plugins, a = ['solution'], 1\n", 1)]
#[case("def f():\n    return 1\npytest_pyfunc_call = f\n", 3)]
#[case("from os import path as pytest_plugins\n", 1)]
#[case("if (pytest_plugins := ['x']):\n    pass\n", 1)]
fn a_program_that_reaches_for_the_runner_is_found(#[case] source: &str, #[case] line: u32) {
    let found = solution_findings(&Module::parse(source).unwrap());
    assert!(
        found.iter().any(|finding| finding.line == line),
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
fn plain_programs_are_left_alone(#[case] source: &str) {
    let found = solution_findings(&Module::parse(source).unwrap());
    assert!(found.is_empty(), "{source}\n{}", whats(&found));
}

#[rstest]
#[case(
    "import sys\ndef test_a():\n    assert f() == 1\n    sys.exit(0)\n",
    4,
    "ends the session"
)]
#[case("import os\nos._exit(0)\n", 2, "past the test runner")]
#[case("import pytest\npytest.exit('done')\n", 2, "out of the session")]
#[case(
    "import pytest\npytest.skip('all', allow_module_level=True)\n",
    2,
    "out of the session"
)]
#[case(
    "import pytest\n@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n",
    2,
    "out of the session"
)]
#[case(
    "import pytest\n@pytest.mark.skip(reason='x')\ndef test_a():\n    assert f() == 1\n",
    2,
    "out of the session"
)]
#[case(
    "import pytest\npytestmark = pytest.mark.skipif(True, reason='x')\n",
    2,
    "out of the session"
)]
#[case(
    "import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert f() == 1\n",
    2,
    "lets a test fail"
)]
#[case(
    "from pytest import mark\n@mark.xfail\ndef test_a():\n    assert f() == 1\n",
    2,
    "lets a test fail"
)]
#[case(
    "import pytest\ndef test_a():\n    pytest.skip('x')\n    assert f() == 1\n",
    3,
    "out of the session"
)]
#[case(
    "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.skipTest('x')\n        self.assertTrue(f())\n",
    4,
    "out of the session"
)]
#[case(
    "import unittest\n@unittest.skip('x')\nclass TestA(unittest.TestCase):\n    pass\n",
    2,
    "out of the session"
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
#[case("def test_a():\n    assert True\n", 2, "always holds")]
#[case("def test_a():\n    f()\n    assert 1 == 1\n", 3, "always holds")]
#[case("def test_a():\n    r = f()\n    assert r == r\n", 3, "always holds")]
#[case("def test_a():\n    assert (f() == 1, 'message')\n", 2, "always holds")]
#[case("def test_a():\n    assert f() == 1 or True\n", 2, "always holds")]
#[case(
    "def test_a():\n    try:\n        assert f() == 1\n    except AssertionError:\n        pass\n",
    4,
    "is caught here"
)]
#[case(
    "def test_a():\n    try:\n        assert f() == 1\n    except:\n        pass\n",
    4,
    "is caught here"
)]
#[case("import sys\nsys.modules['pytest'] = None\n", 2, "reaches into")]
#[case("import sys\nfor name in list(sys.modules):\n    pass\n", 2, "reaches into")]
#[case(
    "def pytest_collection_modifyitems(items):\n    items.clear()\n",
    1,
    "hook of pytest"
)]
#[case("from _pytest.monkeypatch import MonkeyPatch\n", 1, "is the test runner")]
#[case(
    "class Any:\n    def __eq__(self, other):\n        return True\ndef test_a():\n    assert f() == Any()\n",
    2,
    "same answer"
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
fn plain_suites_are_left_alone(#[case] source: &str) {
    let found = suite_findings(&Module::parse(source).unwrap());
    assert!(found.is_empty(), "{source}\n{}", whats(&found));
}
