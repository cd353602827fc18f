//! What was installed once is installed again archive by archive, and what is too young is passed over.

use std::io::{BufRead as _, BufReader, Cursor, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use codegen_core::stage::Category;
use codegen_sandbox::{BuiltEnvironment, ImageSpec, LocalSandbox, Progressing, Sandbox as _, SandboxError};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use crate::support::spec;

/// Ages of a test are days before now.
const OLD: i64 = 400;

/// A package index on loopback, whose files can be exchanged.
#[derive(Clone)]
struct Index {
    address: String,
    files: Arc<Mutex<Vec<File>>>,
    /// Paths that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

struct File {
    name: String,
    content: Vec<u8>,
    days: i64,
}

impl Index {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let index = Self {
            address: format!("http://{}", listener.local_addr().unwrap()),
            files: Arc::default(),
            asked: Arc::default(),
        };
        let served = index.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                served.answer(connection.unwrap());
            }
        });
        index
    }

    /// Serves a wheel with this content that requires these, published so many days ago; in the place of one of that name.
    fn publish(&self, name: &str, version: &str, content: &str, requires: &[&str], days: i64) {
        let file = File {
            name: format!("{name}-{version}-py3-none-any.whl"),
            content: wheel(name, version, content, requires),
            days,
        };
        let mut files = self.files.lock().unwrap();
        files.retain(|other| other.name != file.name);
        files.push(file);
    }

    fn url(&self) -> String {
        format!("{}/simple", self.address)
    }

    fn answer(&self, mut connection: TcpStream) {
        let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
        let request = lines.next().unwrap().unwrap();
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let path = request.split(' ').nth(1).unwrap();
        let (status, kind, body) = match self.find(path) {
            Some((kind, body)) => ("200 OK", kind, body),
            None => ("404 Not Found", "text/plain", Vec::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        // Whoever asked may have hung up.
        let _ = connection.write_all(&[head.into_bytes(), body].concat());
    }

    fn find(&self, path: &str) -> Option<(&'static str, Vec<u8>)> {
        const JSON: &str = "application/vnd.pypi.simple.v1+json";
        self.asked.lock().unwrap().push(path.to_owned());
        let files = self.files.lock().unwrap();
        if let Some(name) = path.strip_prefix("/files/") {
            let file = files.iter().find(|file| file.name == name)?;
            return Some(("application/octet-stream", file.content.clone()));
        }
        let project = path.strip_prefix("/simple/")?.trim_end_matches('/');
        let prefix = format!("{}-", project.replace('-', "_"));
        let entries: Vec<Value> = files
            .iter()
            .filter(|file| file.name.starts_with(&prefix))
            .map(|file| {
                let published = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(24 * file.days);
                json!({
                    "filename": file.name,
                    "url": format!("{}/files/{}", self.address, file.name),
                    "hashes": {"sha256": sha256(&file.content)},
                    "upload-time": published.to_string(),
                })
            })
            .collect();
        let page = json!({"meta": {"api-version": "1.1"}, "name": project, "files": entries});
        (!entries.is_empty()).then(|| (JSON, page.to_string().into_bytes()))
    }
}

fn sha256(bytes: &[u8]) -> String {
    codegen_core::digest::sha256_hex(bytes)
}

fn wheel(name: &str, version: &str, content: &str, requires: &[&str]) -> Vec<u8> {
    let info = format!("{name}-{version}.dist-info");
    let requires: Vec<String> = requires
        .iter()
        .map(|required| format!("Requires-Dist: {required}\n"))
        .collect();
    let requires = requires.concat();
    let files = [
        (format!("{name}.py"), content.to_owned()),
        (
            format!("{info}/METADATA"),
            format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"),
        ),
        (
            format!("{info}/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
        ),
    ];
    let recorded: Vec<String> = files.iter().map(|(path, _)| format!("{path},,\n")).collect();
    let record = (
        format!("{info}/RECORD"),
        format!("{}{info}/RECORD,,\n", recorded.concat()),
    );
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files.into_iter().chain([record]) {
        archive.start_file(path, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn wanted(index: &Index, packages: &[&str]) -> ImageSpec {
    let mut spec = ImageSpec {
        index_url: Some(index.url()),
        ..spec(&[])
    };
    spec.packages.pip = packages.iter().map(ToString::to_string).collect();
    spec
}

/// The environment as somebody makes it who has none yet.
async fn built_anew(spec: &ImageSpec) -> Result<BuiltEnvironment, SandboxError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cache = tempfile::tempdir().unwrap();
    match LocalSandbox::new(cache.path()).build(spec, 0).await? {
        Progressing::Done(built) => Ok(built),
        other => panic!("a local build is done when it returns: {other:?}"),
    }
}

#[tokio::test]
async fn an_environment_is_made_again_of_the_same_archives() {
    let index = Index::start();
    index.publish("tiny", "1.0", "x = 1\n", &["other_thing"], OLD);
    index.publish("other_thing", "1.0", "y = 1\n", &[], OLD);
    let mut spec = wanted(&index, &["tiny"]);
    let first = built_anew(&spec).await.unwrap();
    let lock = first.lock.clone().unwrap();
    assert_eq!(lock.names(), ["other-thing==1.0", "tiny==1.0"]);
    let digests: Vec<String> = index
        .files
        .lock()
        .unwrap()
        .iter()
        .map(|file| sha256(&file.content))
        .collect();
    assert_eq!(lock.packages[1].sha256.as_ref(), Some(&digests[0]));
    assert_eq!(lock.packages[0].sha256.as_ref(), Some(&digests[1]));
    assert_eq!(lock.packages[0].via, ["tiny"]);

    // A release that came out since is not taken by whoever makes the same again.
    index.publish("other_thing", "2.0", "y = 2\n", &[], OLD);
    let newer = built_anew(&spec).await.unwrap();
    assert_eq!(newer.resolved, ["other-thing==2.0", "tiny==1.0"]);
    spec.lock = Some(lock.clone());
    let again = built_anew(&spec).await.unwrap();
    assert_eq!((again.resolved, again.lock), (first.resolved, Some(lock)));
}

#[tokio::test]
async fn an_archive_that_was_exchanged_is_not_installed_again() {
    let index = Index::start();
    index.publish("tiny", "1.0", "x = 1\n", &[], OLD);
    let mut spec = wanted(&index, &["tiny"]);
    spec.lock = built_anew(&spec).await.unwrap().lock;
    let recorded = sha256(&index.files.lock().unwrap()[0].content);

    // Other bytes under the same version, and an index that announces them.
    index.publish("tiny", "1.0", "import evil\n", &[], OLD);
    let served = sha256(&index.files.lock().unwrap()[0].content);
    let error = built_anew(&spec).await.unwrap_err();
    assert_eq!(error.category(), Category::Configuration, "{error}");
    let said = error.to_string();
    for part in ["pip package tiny==1.0", &recorded, &served, "Override"] {
        assert!(said.contains(part), "{part}: {said}");
    }

    // Where nothing was recorded it is installed.
    let unrecorded = built_anew(&wanted(&index, &["tiny"])).await.unwrap();
    assert!(unrecorded.lock.unwrap().to_string().contains(&served));

    index.files.lock().unwrap().clear();
    let error = built_anew(&spec).await.unwrap_err();
    assert_eq!(error.category(), Category::Configuration, "{error}");
    assert!(error.to_string().contains("has no more"), "{error}");
}

#[tokio::test]
async fn what_is_brought_along_and_too_young_is_passed_over() {
    let index = Index::start();
    index.publish("tiny", "1.0", "x = 1\n", &["other_thing"], OLD);
    index.publish("other_thing", "1.0", "y = 1\n", &[], OLD);
    index.publish("other_thing", "2.0", "y = 2\n", &[], 2);
    let spec = ImageSpec {
        min_release_age_days: 7,
        ..wanted(&index, &["tiny"])
    };
    let built = built_anew(&spec).await.unwrap();
    assert_eq!(built.resolved, ["other-thing==1.0", "tiny==1.0"]);
}

#[tokio::test]
async fn what_installs_does_not_come_from_where_packages_come_from() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("marker");
    let index = Index::start();
    index.publish("tiny", "1.0", "x = 1\n", &[], OLD);
    let hostile = format!(
        "open({:?}, 'w').write('ran outside of a sandbox')\n",
        marker.display()
    );
    for version in ["0.13.9", "99.0"] {
        index.publish("uv", version, &hostile, &[], OLD);
    }
    let spec = ImageSpec {
        min_release_age_days: 7,
        ..wanted(&index, &["tiny"])
    };
    let built = built_anew(&spec).await.unwrap();
    assert!(!marker.exists(), "the uv of the index ran");
    assert_eq!(built.resolved, ["tiny==1.0"]);
    let asked = index.asked.lock().unwrap();
    assert!(!asked.iter().any(|path| path.contains("/uv")), "{asked:?}");
}
