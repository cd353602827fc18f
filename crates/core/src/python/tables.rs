//! Tables: import names that differ from package names, what else a library needs, what a call or a mark needs.

/// Import names (dotted prefixes) and the package that provides them, sorted; other names are their own package.
#[rustfmt::skip]
pub const PACKAGES: &[(&str, &str)] = &[
    ("Bio", "biopython"), ("Crypto", "pycryptodome"), ("Cryptodome", "pycryptodomex"),
    ("MySQLdb", "mysqlclient"), ("OpenGL", "pyopengl"), ("OpenSSL", "pyopenssl"), ("PIL", "pillow"),
    ("Xlib", "python-xlib"), ("aifc", "standard-aifc"), ("asynchat", "standard-asynchat"),
    ("asyncore", "standard-asyncore"), ("attr", "attrs"), ("audioop", "audioop-lts"),
    ("azure.core", "azure-core"), ("azure.cosmos", "azure-cosmos"), ("azure.eventhub", "azure-eventhub"),
    ("azure.identity", "azure-identity"), ("azure.keyvault.secrets", "azure-keyvault-secrets"),
    ("azure.servicebus", "azure-servicebus"), ("azure.storage.blob", "azure-storage-blob"),
    ("bs4", "beautifulsoup4"), ("bson", "pymongo"), ("cairo", "pycairo"), ("camelot", "camelot-py"),
    ("cassandra", "cassandra-driver"), ("cgi", "legacy-cgi"), ("cgitb", "legacy-cgi"),
    ("chunk", "standard-chunk"), ("community", "python-louvain"), ("consul", "python-consul"),
    ("corsheaders", "django-cors-headers"), ("cv2", "opencv-python-headless"),
    ("databricks.sql", "databricks-sql-connector"), ("dateutil", "python-dateutil"),
    ("decouple", "python-decouple"), ("discord", "discord-py"), ("distutils", "setuptools"),
    ("dns", "dnspython"), ("docx", "python-docx"), ("dotenv", "python-dotenv"), ("ee", "earthengine-api"),
    ("engineio", "python-engineio"), ("environ", "django-environ"), ("faiss", "faiss-cpu"),
    ("fbprophet", "prophet"), ("ffmpeg", "ffmpeg-python"), ("fitz", "pymupdf"), ("gi", "pygobject"),
    ("git", "gitpython"), ("github", "pygithub"), ("gitlab", "python-gitlab"),
    ("google.api_core", "google-api-core"), ("google.auth", "google-auth"),
    ("google.cloud.aiplatform", "google-cloud-aiplatform"),
    ("google.cloud.bigquery", "google-cloud-bigquery"), ("google.cloud.datastore", "google-cloud-datastore"),
    ("google.cloud.firestore", "google-cloud-firestore"), ("google.cloud.kms", "google-cloud-kms"),
    ("google.cloud.language", "google-cloud-language"), ("google.cloud.logging", "google-cloud-logging"),
    ("google.cloud.pubsub", "google-cloud-pubsub"), ("google.cloud.pubsub_v1", "google-cloud-pubsub"),
    ("google.cloud.secretmanager", "google-cloud-secret-manager"),
    ("google.cloud.spanner", "google-cloud-spanner"), ("google.cloud.speech", "google-cloud-speech"),
    ("google.cloud.storage", "google-cloud-storage"),
    ("google.cloud.texttospeech", "google-cloud-texttospeech"),
    ("google.cloud.translate", "google-cloud-translate"),
    ("google.cloud.translate_v2", "google-cloud-translate"), ("google.cloud.vision", "google-cloud-vision"),
    ("google.genai", "google-genai"), ("google.generativeai", "google-generativeai"),
    ("google.oauth2", "google-auth"), ("google.protobuf", "protobuf"),
    ("googleapiclient", "google-api-python-client"), ("gridfs", "pymongo"), ("grpc", "grpcio"),
    ("grpc_status", "grpcio-status"), ("hydra", "hydra-core"), ("imblearn", "imbalanced-learn"),
    ("imghdr", "standard-imghdr"), ("jose", "python-jose"), ("jwt", "pyjwt"), ("kafka", "kafka-python"),
    ("ldap", "python-ldap"), ("magic", "python-magic"), ("mailcap", "standard-mailcap"),
    ("markdown_it", "markdown-it-py"), ("memcache", "python-memcached"), ("mpl_toolkits", "matplotlib"),
    ("multipart", "python-multipart"), ("mysql.connector", "mysql-connector-python"), ("nacl", "pynacl"),
    ("nmap", "python-nmap"), ("nntplib", "standard-nntplib"), ("odf", "odfpy"),
    ("openbabel", "openbabel-wheel"), ("opensearchpy", "opensearch-py"), ("osgeo", "gdal"),
    ("pdfminer", "pdfminer-six"), ("pipes", "standard-pipes"), ("pkg_resources", "setuptools"),
    ("pptx", "python-pptx"), ("psycopg", "psycopg[binary]"), ("psycopg2", "psycopg2-binary"),
    ("pylab", "matplotlib"), ("pythoncom", "pywin32"), ("pythonjsonlogger", "python-json-logger"),
    ("rest_framework", "djangorestframework"), ("ruamel.yaml", "ruamel-yaml"), ("serial", "pyserial"),
    ("sip", "pyqt5-sip"), ("skbio", "scikit-bio"), ("skimage", "scikit-image"), ("sklearn", "scikit-learn"),
    ("skopt", "scikit-optimize"), ("sksurv", "scikit-survival"), ("slugify", "python-slugify"),
    ("smtpd", "standard-smtpd"), ("snappy", "python-snappy"), ("sndhdr", "standard-sndhdr"),
    ("snowflake.connector", "snowflake-connector-python"), ("socketio", "python-socketio"),
    ("socks", "pysocks"), ("speech_recognition", "speechrecognition"), ("stdnum", "python-stdnum"),
    ("sunau", "standard-sunau"), ("surprise", "scikit-surprise"), ("tabula", "tabula-py"),
    ("telegram", "python-telegram-bot"), ("telnetlib", "standard-telnetlib"), ("umap", "umap-learn"),
    ("usb", "pyusb"), ("uu", "standard-uu"), ("websocket", "websocket-client"), ("whisper", "openai-whisper"),
    ("whois", "python-whois"), ("win32api", "pywin32"), ("win32com", "pywin32"), ("win32file", "pywin32"),
    ("wx", "wxpython"), ("xdrlib", "standard-xdrlib"), ("yaml", "pyyaml"), ("zmq", "pyzmq"),
];

/// Import names and the Debian packages that their libraries call or load, sorted.
#[rustfmt::skip]
pub const SYSTEM: &[(&str, &[&str])] = &[
    ("MySQLdb", &["libmariadb3"]), ("cairosvg", &["libcairo2"]), ("camelot", &["ghostscript"]),
    ("cups", &["libcups2"]), ("easyocr", &["libgl1", "libglib2.0-0"]), ("enchant", &["libenchant-2-2"]),
    ("ffmpeg", &["ffmpeg"]), ("git", &["git"]), ("graphviz", &["graphviz"]), ("librosa", &["libsndfile1"]),
    ("lightgbm", &["libgomp1"]), ("magic", &["libmagic1"]), ("moviepy", &["ffmpeg"]),
    ("ocrmypdf", &["ocrmypdf"]), ("pdf2image", &["poppler-utils"]), ("psycopg2", &["libpq5"]),
    ("pyaudio", &["libportaudio2"]), ("pydot", &["graphviz"]), ("pydub", &["ffmpeg"]),
    ("pygraphviz", &["graphviz"]), ("pylibdmtx", &["libdmtx0b"]), ("pyodbc", &["unixodbc"]),
    ("pypandoc", &["pandoc"]), ("pyspark", &["default-jre-headless"]), ("pytesseract", &["tesseract-ocr"]),
    ("pyttsx3", &["espeak-ng"]), ("pyzbar", &["libzbar0"]), ("sounddevice", &["libportaudio2"]),
    ("soundfile", &["libsndfile1"]), ("tabula", &["default-jre-headless"]), ("usb", &["libusb-1.0-0"]),
    ("wand", &["libmagickwand-dev"]),
    ("weasyprint", &["libpango-1.0-0", "libpangoft2-1.0-0", "libharfbuzz-subset0"]), ("whisper", &["ffmpeg"]),
    ("xgboost", &["libgomp1"]),
];

/// A library whose readers and writers need another package.
pub struct TableEngine {
    /// The library that offers the methods.
    pub library: &'static str,
    /// Its methods.
    pub methods: &'static [&'static str],
    /// The package they need.
    pub package: &'static str,
}

/// Engines that are chosen by the method that is called.
pub const ENGINES: &[TableEngine] = &[
    TableEngine {
        library: "pandas",
        methods: &["read_excel", "to_excel", "ExcelWriter", "ExcelFile"],
        package: "openpyxl",
    },
    TableEngine {
        library: "pandas",
        methods: &[
            "read_parquet",
            "to_parquet",
            "read_feather",
            "to_feather",
            "read_orc",
        ],
        package: "pyarrow",
    },
    TableEngine {
        library: "pandas",
        methods: &["read_xml", "to_xml", "read_html"],
        package: "lxml",
    },
    TableEngine {
        library: "pandas",
        methods: &["to_markdown"],
        package: "tabulate",
    },
    TableEngine {
        library: "pandas",
        methods: &["read_hdf", "to_hdf", "HDFStore"],
        package: "tables",
    },
    TableEngine {
        library: "pandas",
        methods: &["read_sql", "read_sql_query", "read_sql_table", "to_sql"],
        package: "sqlalchemy",
    },
    TableEngine {
        library: "pandas",
        methods: &["to_xarray"],
        package: "xarray",
    },
    TableEngine {
        library: "pandas",
        methods: &["background_gradient", "style"],
        package: "jinja2",
    },
    TableEngine {
        library: "polars",
        methods: &["read_excel"],
        package: "fastexcel",
    },
    TableEngine {
        library: "polars",
        methods: &["write_excel"],
        package: "xlsxwriter",
    },
    TableEngine {
        library: "polars",
        methods: &["to_pandas", "to_arrow", "from_arrow"],
        package: "pyarrow",
    },
];

/// Values of `engine=` (and parsers of `BeautifulSoup`) that are packages.
pub const NAMED_ENGINES: &[(&str, &str)] = &[
    ("calamine", "python-calamine"),
    ("fastparquet", "fastparquet"),
    ("html5lib", "html5lib"),
    ("lxml", "lxml"),
    ("lxml-xml", "lxml"),
    ("odf", "odfpy"),
    ("openpyxl", "openpyxl"),
    ("pyarrow", "pyarrow"),
    ("pyxlsb", "pyxlsb"),
    ("xlrd", "xlrd"),
    ("xlsxwriter", "xlsxwriter"),
];

/// Readers and writers of pandas that compress by themselves; those of Parquet leave it to their engine.
#[rustfmt::skip]
pub const COMPRESSING: &[&str] = &[
    "read_csv", "read_fwf", "read_json", "read_pickle", "read_table", "read_xml", "to_csv", "to_json", "to_pickle", "to_xml",
];

/// Values of their argument `compression` and the package behind them; Python itself knows the others.
pub const COMPRESSIONS: &[(&str, &str)] = &[("zstd", "zstandard")];

/// Marks of pytest (`@pytest.mark.asyncio`) and the plugin behind them.
pub const MARKS: &[(&str, &str)] = &[
    ("anyio", "anyio"),
    ("asyncio", "pytest-asyncio"),
    ("benchmark", "pytest-benchmark"),
    ("flaky", "pytest-rerunfailures"),
    ("freeze_time", "pytest-freezer"),
    ("timeout", "pytest-timeout"),
];

/// Fixtures of pytest and the plugin that brings them.
pub const FIXTURES: &[(&str, &str)] = &[
    ("benchmark", "pytest-benchmark"),
    ("faker", "faker"),
    ("freezer", "pytest-freezer"),
    ("fs", "pyfakefs"),
    ("httpserver", "pytest-httpserver"),
    ("httpx_mock", "pytest-httpx"),
    ("mocker", "pytest-mock"),
    ("requests_mock", "requests-mock"),
    ("subtests", "pytest-subtests"),
];

#[cfg(test)]
mod tests {
    use super::super::requirement::Requirement;
    use super::*;

    #[test]
    fn both_tables_are_sorted_and_without_duplicates() {
        assert!(PACKAGES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(SYSTEM.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn every_package_of_the_tables_is_a_normal_requirement() {
        let engines = ENGINES.iter().map(|engine| engine.package);
        let others = [PACKAGES, NAMED_ENGINES, COMPRESSIONS, MARKS, FIXTURES].concat();
        for package in engines.chain(others.iter().map(|(_, package)| *package)) {
            assert_eq!(Requirement::parse(package).unwrap().to_string(), package);
        }
    }
}
