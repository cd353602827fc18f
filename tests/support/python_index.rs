//! A package index of the test's own: wheels and source distributions that it makes itself.
#![allow(dead_code, reason = "each suite uses a part of this")]

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use rustls::ServerConfig;
use zip::write::SimpleFileOptions;

use super::server::{answer, run, serve};

/// A file that the index serves: its name and content.
pub type Distribution = (String, Vec<u8>);

/// A wheel of version 1.0 with these modules and `.pth` files.
pub fn wheel(name: &str, files: &[(&str, &str)]) -> Distribution {
    let info = format!("{name}-1.0.dist-info");
    let mut all: Vec<(String, String)> = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    all.push((
        format!("{info}/METADATA"),
        format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"),
    ));
    all.push((
        format!("{info}/WHEEL"),
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
    ));
    let record: String = all.iter().flat_map(|(path, _)| [path.as_str(), ",,\n"]).collect();
    all.push((format!("{info}/RECORD"), format!("{record}{info}/RECORD,,\n")));
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in all {
        // Scripts are installed as executable as they are here.
        let mode = if path.contains(".data/scripts/") {
            0o755
        } else {
            0o644
        };
        let options = SimpleFileOptions::default().unix_permissions(mode);
        archive.start_file(path, options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    (
        format!("{name}-1.0-py3-none-any.whl"),
        archive.finish().unwrap().into_inner(),
    )
}

/// A source distribution whose `setup.py` is the backend that builds it, so that it needs nothing else.
pub fn source(name: &str, setup: &str) -> Distribution {
    let folder = tempfile::tempdir().unwrap();
    let inner = format!("{name}-1.0");
    let root = folder.path().join(&inner);
    std::fs::create_dir(&root).unwrap();
    let project = "[build-system]\nrequires = []\nbuild-backend = \"setup\"\nbackend-path = [\".\"]\n";
    std::fs::write(root.join("pyproject.toml"), project).unwrap();
    std::fs::write(root.join("setup.py"), setup).unwrap();
    std::fs::write(
        root.join("PKG-INFO"),
        format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"),
    )
    .unwrap();
    let archive = run(Command::new("tar")
        .arg("-cz")
        .arg("-C")
        .arg(folder.path())
        .arg(&inner));
    (format!("{inner}.tar.gz"), archive)
}

/// An index that serves what it was given, and pytest, which every image has: here an empty one.
pub struct Index {
    address: SocketAddr,
    scheme: &'static str,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Index {
    /// Open to everybody, without TLS.
    pub async fn start(distributions: Vec<Distribution>) -> Self {
        Self::start_with(None, None, distributions).await
    }

    /// With TLS, and for whoever shows `user:password`.
    pub async fn start_with(
        tls: Option<ServerConfig>,
        login: Option<&str>,
        distributions: Vec<Distribution>,
    ) -> Self {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let files: BTreeMap<String, Vec<u8>> =
            distributions.into_iter().chain([wheel("pytest", &[])]).collect();
        let files = Arc::new(Mutex::new(files));
        let served = files.clone();
        let login = login.map(|login| {
            format!(
                "Basic {}",
                base64::engine::general_purpose::STANDARD.encode(login)
            )
        });
        let login = Arc::new(login);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = requests.clone();
        let address = serve(tls, move |head, mut connection| {
            log.lock().unwrap().push(head.target.clone());
            let (files, login) = (served.clone(), login.clone());
            async move {
                if login.is_some() && head.header("Authorization") != login.as_deref() {
                    let ask = [("WWW-Authenticate", "Basic realm=\"index\"")];
                    return answer(&mut connection, "401 Unauthorized", &ask, b"").await;
                }
                let found = find(&files.lock().unwrap(), &head.target);
                match found {
                    Some((kind, body)) => {
                        answer(&mut connection, "200 OK", &[("Content-Type", kind)], &body).await;
                    }
                    None => answer(&mut connection, "404 Not Found", &[], b"").await,
                }
            }
        })
        .await;
        Self {
            address,
            scheme,
            files,
            requests,
        }
    }

    /// Serves this from now on, in the place of a file of the same name.
    pub fn exchange(&self, (name, content): Distribution) {
        self.files.lock().unwrap().insert(name, content);
    }

    /// What `image.indexURL` says; with the login that it asks for.
    pub fn url(&self, login: Option<&str>) -> String {
        let login = login.map(|login| format!("{login}@")).unwrap_or_default();
        format!("{}://{login}{}/simple", self.scheme, self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Paths that were asked for.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// The page of a project, or a file.
fn find(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Option<(&'static str, Vec<u8>)> {
    if let Some(project) = path.strip_prefix("/simple/") {
        let prefix = format!("{}-", project.trim_end_matches('/').replace('-', "_"));
        let links: String = files
            .keys()
            .filter(|name| name.starts_with(&prefix))
            .flat_map(|name| ["<a href=\"/files/", name, "\">", name, "</a>\n"])
            .collect();
        return (!links.is_empty()).then(|| ("text/html", links.into_bytes()));
    }
    let content = files.get(path.strip_prefix("/files/")?)?;
    Some(("application/octet-stream", content.clone()))
}
