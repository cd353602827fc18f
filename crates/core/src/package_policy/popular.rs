//! Names that are easily taken for another's: popular packages, and what is a slip of the finger away from them.

use crate::python::packages::aliased_packages;

/// Shorter names have too many neighbours to mean anything.
const SHORTEST: usize = 5;
/// From this length on, two slips are one name still.
const LONG: usize = 11;

/// Much used packages that are imported by their own name; the others stand in the table of imports.
#[rustfmt::skip]
const POPULAR: &[&str] = &[
    "absl-py", "aiohttp", "aiosignal", "alembic", "altair", "annotated-types", "anyio", "arrow", "asgiref", "asyncpg",
    "babel", "backoff", "bcrypt", "black", "bokeh", "boto3", "botocore", "cachetools", "catboost", "celery", "certifi",
    "cffi", "chardet", "charset-normalizer", "click", "cloudpickle", "colorama", "coverage", "cryptography", "cycler",
    "cython", "dash", "dask", "dataclasses-json", "decorator", "deprecated", "dill", "distlib", "distro", "django",
    "docutils", "duckdb", "et-xmlfile", "fastapi", "fastparquet", "filelock", "flask", "fonttools", "frozenlist", "fsspec",
    "gensim", "geopandas", "gevent", "greenlet", "gunicorn", "h5py", "holidays", "html5lib", "httpcore", "httptools",
    "httpx", "huggingface-hub", "hypothesis", "idna", "importlib-metadata", "iniconfig", "ipython", "isodate", "isort",
    "itsdangerous", "jinja2", "jmespath", "joblib", "jsonpatch", "jsonpointer", "jsonschema", "keras", "kiwisolver",
    "langchain", "lightgbm", "loguru", "lxml", "mako", "markdown", "markupsafe", "marshmallow", "matplotlib", "mock",
    "more-itertools", "mpmath", "msgpack", "multidict", "mypy", "narwhals", "networkx", "nltk", "numba", "numexpr", "numpy",
    "oauthlib", "openai", "openpyxl", "orjson", "packaging", "pandas", "pandera", "paramiko", "pathspec", "patsy",
    "peewee", "pendulum", "phonenumbers", "platformdirs", "plotly", "pluggy", "polars", "prompt-toolkit", "propcache",
    "psutil", "pyarrow", "pyasn1", "pycparser", "pydantic", "pydantic-core", "pydantic-settings", "pygments", "pyparsing",
    "pypdf", "pyproj", "pyspark", "pytest", "pytest-asyncio", "pytest-mock", "pytz", "rapidfuzz", "redis", "regex",
    "requests", "requests-oauthlib", "rich", "rpds-py", "s3fs", "s3transfer", "scikit-learn", "scipy", "scrapy", "seaborn",
    "selenium", "sentencepiece", "setuptools", "shapely", "simplejson", "sniffio", "soupsieve", "spacy", "sqlalchemy",
    "sqlglot", "starlette", "statsmodels", "sympy", "tabulate", "tenacity", "tensorboard", "tensorflow", "termcolor",
    "threadpoolctl", "tiktoken", "tokenizers", "toml", "tomli", "tomli-w", "tomlkit", "torch", "torchaudio", "torchvision",
    "tornado", "tqdm", "transformers", "typer", "typing-extensions", "typing-inspection", "tzdata", "tzlocal", "ujson",
    "uritemplate", "urllib3", "uvicorn", "virtualenv", "watchdog", "wcwidth", "werkzeug", "wheel", "wordcloud", "wrapt",
    "xarray", "xgboost", "xlrd", "xlsxwriter", "xlwt", "xmltodict", "yarl", "zipp", "zstandard",
];

/// The popular package that this normalised name is close to without being it.
#[must_use]
pub fn resembles(name: &str) -> Option<&'static str> {
    let all = || POPULAR.iter().copied().chain(aliased_packages());
    if name.len() < SHORTEST || all().any(|known| known == name) {
        return None;
    }
    let slips = if name.len() >= LONG { 2 } else { 1 };
    all()
        .filter(|known| known.len() >= SHORTEST && known.len().abs_diff(name.len()) <= slips)
        .map(|known| (strsim::osa_distance(known, name), known))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("pandsa", Some("pandas"))]
    #[case("numppy", Some("numpy"))]
    #[case("requets", Some("requests"))]
    #[case("scikitlearn", Some("scikit-learn"))]
    #[case("matplotlip", Some("matplotlib"))]
    #[case("beautifulsop4", Some("beautifulsoup4"))]
    #[case("pandas", None)]
    #[case("psycopg2-binary", None)]
    #[case("pyyaml", None)]
    #[case("rich", None)]
    #[case("ric", None)]
    #[case("my-own-package", None)]
    fn a_name_close_to_a_popular_one_is_seen(#[case] name: &str, #[case] popular: Option<&str>) {
        assert_eq!(resembles(name), popular);
    }

    #[test]
    fn the_table_is_sorted_and_its_names_are_normal() {
        assert!(POPULAR.is_sorted(), "{POPULAR:?}");
        for name in POPULAR {
            assert_eq!(crate::python::requirement::normalized(name), *name);
        }
    }
}
