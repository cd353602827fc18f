//! The standard library of each Python version.
//!
//! Taken from `sys.stdlib_module_names` of the interpreters 3.10 to 3.13; 3.14 adds the modules named in its release notes.

/// Modules of every version from 3.10 on.
#[rustfmt::skip]
const ALWAYS: &[&str] = &[
    "__future__", "_abc", "_ast", "_asyncio", "_bisect", "_bz2", "_codecs", "_collections_abc",
    "_compat_pickle", "_contextvars", "_csv", "_ctypes", "_curses", "_datetime", "_dbm", "_decimal",
    "_elementtree", "_functools", "_gdbm", "_hashlib", "_heapq", "_imp", "_io", "_json", "_locale", "_lsprof",
    "_lzma", "_markupbase", "_multiprocessing", "_opcode", "_operator", "_pickle", "_posixshmem",
    "_posixsubprocess", "_pydecimal", "_pyio", "_queue", "_random", "_signal", "_socket", "_sqlite3", "_sre",
    "_ssl", "_stat", "_statistics", "_string", "_strptime", "_struct", "_symtable", "_thread",
    "_threading_local", "_tkinter", "_tracemalloc", "_uuid", "_warnings", "_weakref", "_weakrefset",
    "_winapi", "_zoneinfo", "abc", "antigravity", "argparse", "array", "ast", "asyncio", "atexit", "base64",
    "bdb", "binascii", "bisect", "builtins", "bz2", "cProfile", "calendar", "cmath", "cmd", "code", "codecs",
    "codeop", "collections", "colorsys", "compileall", "concurrent", "configparser", "contextlib",
    "contextvars", "copy", "copyreg", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal",
    "difflib", "dis", "doctest", "email", "encodings", "ensurepip", "enum", "errno", "faulthandler", "fcntl",
    "filecmp", "fileinput", "fnmatch", "fractions", "ftplib", "functools", "gc", "genericpath", "getopt",
    "getpass", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "http",
    "idlelib", "imaplib", "importlib", "inspect", "io", "ipaddress", "itertools", "json", "keyword",
    "linecache", "locale", "logging", "lzma", "mailbox", "marshal", "math", "mimetypes", "mmap",
    "modulefinder", "msvcrt", "multiprocessing", "netrc", "nt", "ntpath", "nturl2path", "numbers", "opcode",
    "operator", "optparse", "os", "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "platform",
    "plistlib", "poplib", "posix", "posixpath", "pprint", "profile", "pstats", "pty", "pwd", "py_compile",
    "pyclbr", "pydoc", "pydoc_data", "pyexpat", "queue", "quopri", "random", "re", "readline", "reprlib",
    "resource", "rlcompleter", "runpy", "sched", "secrets", "select", "selectors", "shelve", "shlex",
    "shutil", "signal", "site", "smtplib", "socket", "socketserver", "sqlite3", "sre_compile",
    "sre_constants", "sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess",
    "symtable", "sys", "sysconfig", "syslog", "tabnanny", "tarfile", "tempfile", "termios", "textwrap",
    "this", "threading", "time", "timeit", "tkinter", "token", "tokenize", "trace", "traceback",
    "tracemalloc", "tty", "turtle", "turtledemo", "types", "typing", "unicodedata", "unittest", "urllib",
    "uuid", "venv", "warnings", "wave", "weakref", "webbrowser", "winreg", "winsound", "wsgiref", "xml",
    "xmlrpc", "zipapp", "zipfile", "zipimport", "zlib", "zoneinfo",
];

/// Modules that later versions lack, each with the first minor version without it.
#[rustfmt::skip]
const REMOVED: &[(&str, u8)] = &[
    ("aifc", 13), ("asynchat", 12), ("asyncore", 12), ("audioop", 13), ("binhex", 11), ("cgi", 13),
    ("cgitb", 13), ("chunk", 13), ("crypt", 13), ("distutils", 12), ("imghdr", 13), ("imp", 12),
    ("lib2to3", 13), ("mailcap", 13), ("msilib", 13), ("nis", 13), ("nntplib", 13), ("ossaudiodev", 13),
    ("pipes", 13), ("smtpd", 12), ("sndhdr", 13), ("spwd", 13), ("sunau", 13), ("telnetlib", 13), ("uu", 13),
    ("xdrlib", 13),
];

/// Modules that earlier versions lack, each with the first minor version that has it.
const ADDED: &[(&str, u8)] = &[("annotationlib", 14), ("compression", 14), ("tomllib", 11)];

/// Reports whether a top-level module belongs to the standard library of a version (`3.12`).
///
/// A version that is not understood counts as the newest one.
#[must_use]
pub fn contains(version: &str, module: &str) -> bool {
    let minor = minor(version);
    ALWAYS.binary_search(&module).is_ok()
        || REMOVED
            .iter()
            .any(|(name, gone)| *name == module && minor < *gone)
        || ADDED
            .iter()
            .any(|(name, since)| *name == module && minor >= *since)
}

fn minor(version: &str) -> u8 {
    version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok())
        .unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn the_table_is_sorted() {
        assert!(ALWAYS.is_sorted());
    }

    #[rstest]
    #[case("3.11", "distutils", true)]
    #[case("3.12", "distutils", false)]
    #[case("3.10", "binhex", true)]
    #[case("3.11", "binhex", false)]
    #[case("3.12", "cgi", true)]
    #[case("3.13", "cgi", false)]
    #[case("3.10", "tomllib", false)]
    #[case("3.11", "tomllib", true)]
    #[case("3.13", "compression", false)]
    #[case("3.14", "compression", true)]
    #[case("3.14", "annotationlib", true)]
    #[case("3.12.4", "json", true)]
    #[case("3.12", "__future__", true)]
    #[case("3.12", "concurrent", true)]
    #[case("3.12", "pandas", false)]
    fn each_version_has_its_own_library(#[case] version: &str, #[case] module: &str, #[case] expected: bool) {
        assert_eq!(contains(version, module), expected);
    }
}
