//! Packages that programs need, by what they import and call.

use super::*;
use rstest::rstest;

fn detected(source: &str, version: &str, declared: &[&str], base: &[&str]) -> DetectedPackages {
    let module = Module::parse(source).unwrap();
    let list = |names: &[&str]| Packages {
        pip: names.iter().map(ToString::to_string).collect(),
        apt: Vec::new(),
    };
    detect(&PackageSources {
        modules: &[&module],
        version,
        declared: &list(declared),
        base: &list(base),
        own: &BTreeSet::from(["helpers".to_owned()]),
    })
}

#[rstest]
#[case("import os, json, argparse\nfrom pathlib import Path", &[])]
#[case("import pandas as pd\nimport numpy.linalg", &["numpy", "pandas"])]
#[case("from sklearn.linear_model import Ridge\nimport cv2, yaml, bs4", &["beautifulsoup4", "opencv-python-headless", "pyyaml", "scikit-learn"])]
#[case("from PIL import Image\nfrom dateutil import parser\nfrom dotenv import load_dotenv", &["pillow", "python-dateutil", "python-dotenv"])]
#[case("from google.cloud import storage, bigquery", &["google-cloud-bigquery", "google-cloud-storage"])]
#[case("import google.cloud.secretmanager_v1", &["google-cloud-secret-manager"])]
#[case("from google.cloud import language_v1, monitoring_v3", &["google-cloud-language", "google-cloud-monitoring"])]
#[case("from google.protobuf import json_format", &["protobuf"])]
#[case("import ruamel.yaml", &["ruamel-yaml"])]
#[case("import mysql.connector", &["mysql-connector-python"])]
#[case("import psycopg", &["psycopg[binary]"])]
#[case("import tomllib", &[])]
#[case("import helpers.parse\nfrom helpers import x\ntry:\n    import helpers\nexcept ImportError:\n    helpers = None", &[])]
#[case("import distutils.version", &["setuptools"])]
#[case("import cgi", &[])]
#[case("import pytest\nimport solution\nfrom solution import main", &[])]
#[case("try:\n    import ujson as json\nexcept ImportError:\n    import json", &[])]
#[case("try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib", &[])]
#[case("try:\n    import orjson\nexcept ImportError:\n    import ujson as orjson", &["orjson"])]
#[case("try:\n    import numpy\nexcept ImportError:\n    numpy = None", &["numpy"])]
#[case("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import polars", &[])]
#[case("import pandas as pd\npd.read_excel('a')", &["openpyxl", "pandas"])]
#[case("import pandas as pd\ndf.to_parquet('a')", &["pandas", "pyarrow"])]
#[case("from pandas import read_xml", &["lxml", "pandas"])]
#[case("import pandas as pd\nw = pd.ExcelWriter('a', engine='xlsxwriter')", &["openpyxl", "pandas", "xlsxwriter"])]
#[case("import pandas as pd\npd.read_csv('a', compression='zstd')", &["pandas", "zstandard"])]
#[case("import pandas as pd\npd.read_csv('a', compression='gzip')", &["pandas"])]
#[case("import polars as pl\ndf.write_parquet('a', compression='zstd')", &["polars"])]
#[case("import pandas as pd\npd.read_feather('a')", &["pandas", "pyarrow"])]
#[case("from bs4 import BeautifulSoup\nBeautifulSoup(text, 'lxml')", &["beautifulsoup4", "lxml"])]
#[case("import pytest\n@pytest.mark.asyncio\nasync def test_a():\n    assert await f()", &["pytest-asyncio"])]
#[case("async def test_a():\n    assert await f()", &["pytest-asyncio"])]
#[case("async def helper():\n    return 1\ndef test_a():\n    assert helper", &[])]
#[case("def test_a(mocker, tmp_path):\n    assert mocker", &["pytest-mock"])]
#[case("import pytest\n@pytest.fixture\ndef now(freezer):\n    return 1", &["pytest-freezer"])]
#[case("def helper(mocker, fs):\n    return fs", &[])]
fn imports_calls_and_marks_name_packages(#[case] source: &str, #[case] expected: &[&str]) {
    let detection = detected(source, "3.12", &[], &[]);
    assert_eq!(detection.packages.pip, expected);
    assert_eq!(detection.rejected, []);
}

#[rstest]
#[case("3.10", "import tomllib", &["tomllib"])]
#[case("3.11", "import distutils", &[])]
#[case("3.13", "import cgi, telnetlib", &["legacy-cgi", "standard-telnetlib"])]
#[case("3.14", "import compression.zstd", &[])]
fn the_standard_library_is_that_of_the_version(
    #[case] version: &str,
    #[case] source: &str,
    #[case] expected: &[&str],
) {
    assert_eq!(detected(source, version, &[], &[]).packages.pip, expected);
}

#[test]
fn declared_and_base_packages_join_what_is_imported() {
    let detection = detected(
        "import requests\nimport yaml",
        "3.12",
        &["Requests>=2", "sklearn", "json", "PyYAML"],
        &["requests<3", "tqdm"],
    );
    assert_eq!(
        detection.packages.pip,
        ["pyyaml", "requests<3,>=2", "scikit-learn", "tqdm"]
    );
}

#[test]
fn a_package_that_shares_its_name_with_a_module_of_another_stays_itself() {
    assert_eq!(
        detected("", "3.12", &["pymupdf", "attrs", "pillow"], &[])
            .packages
            .pip,
        ["attrs", "pillow", "pymupdf"]
    );
}

#[test]
fn what_is_no_plain_requirement_is_refused_with_a_reason() {
    let detection = detected("", "3.12", &["--index-url=https://evil.example", "pandas"], &[]);
    assert_eq!(detection.packages.pip, ["pandas"]);
    assert_eq!(
        detection.rejected,
        [RejectedPackage {
            given: "--index-url=https://evil.example".into(),
            reason: RequirementFault::Option
        }]
    );
}

#[rstest]
#[case("import pytesseract", &["tesseract-ocr"])]
#[case("from pdf2image import convert_from_path", &["poppler-utils"])]
#[case("import pygraphviz", &["graphviz"])]
#[case("import cv2", &[])]
fn libraries_name_their_system_packages(#[case] source: &str, #[case] expected: &[&str]) {
    assert_eq!(detected(source, "3.12", &[], &[]).packages.apt, expected);
}

#[test]
fn declared_system_packages_are_checked() {
    let declared = Packages {
        pip: Vec::new(),
        apt: vec!["libpq5".into(), "--force".into()],
    };
    let detection = detect(&PackageSources {
        modules: &[],
        version: "3.12",
        declared: &declared,
        base: &Packages::default(),
        own: &BTreeSet::new(),
    });
    assert_eq!(detection.packages.apt, ["libpq5"]);
    assert_eq!(detection.rejected.len(), 1);
}
