//! Servers of a test's own, in its process, that Pods reach by this machine's address. One request a connection.
#![allow(dead_code, reason = "each suite uses a part of this")]

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const LARGEST_HEAD: usize = 64 * 1024;
const HANDSHAKE: Duration = Duration::from_secs(20);

/// Bytes in both directions, with TLS or without.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}
/// A connection.
pub type Connection = Box<dyn Duplex>;

/// What `up` and `install` said of the cluster.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run tests/cluster/test"))
}

/// The address under which Pods reach this process: the one from which it reaches their registry. Without a cluster, that of this machine
/// alone.
pub fn machine() -> IpAddr {
    let Ok(registry) = std::env::var("CODEGEN_E2E_REGISTRY") else {
        return Ipv4Addr::LOCALHOST.into();
    };
    let registry: SocketAddr = registry.parse().expect("a registry that is named by its address");
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect(registry).unwrap();
    socket.local_addr().unwrap().ip()
}

/// The first lines of a request.
#[derive(Clone, Debug)]
pub struct Head {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Bytes of the body.
    pub fn length(&self) -> u64 {
        let given = self.header("Content-Length");
        given.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Reads up to the empty line; `None` where the connection ends before.
    pub async fn read(connection: &mut Connection) -> Option<Self> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            bytes.push(connection.read_u8().await.ok()?);
            assert!(bytes.len() < LARGEST_HEAD, "a request with a head of no end");
        }
        let text = String::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        let mut first = lines.next()?.split(' ').map(str::to_owned);
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        Some(Self {
            method: first.next()?,
            target: first.next()?,
            headers: headers.collect(),
        })
    }

    /// The same request for a server that is spoken to directly.
    pub fn forwarded(&self, target: &str, further: &[(&str, &str)]) -> Vec<u8> {
        let mut text = format!("{} {target} HTTP/1.1\r\nConnection: close\r\n", self.method);
        let own = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let of_the_way = [
            "connection",
            "proxy-connection",
            "proxy-authorization",
            "keep-alive",
        ];
        for (name, value) in own.chain(further.iter().copied()) {
            if !of_the_way.contains(&name.to_ascii_lowercase().as_str()) {
                text.extend([name, ": ", value, "\r\n"]);
            }
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

/// Answers in full, and says that nothing follows.
pub async fn answer(connection: &mut Connection, status: &str, headers: &[(&str, &str)], body: &[u8]) {
    let mut head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    // Whoever asked may be gone, which is their matter.
    let _ = connection.write_all(head.as_bytes()).await;
    let _ = connection.write_all(body).await;
    let _ = connection.shutdown().await;
}

/// Serves at a free port of this machine until the test ends; the address.
pub async fn serve<F>(
    tls: Option<ServerConfig>,
    respond: impl Fn(Head, Connection) -> F + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((machine(), 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    let respond = Arc::new(respond);
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let (acceptor, respond) = (acceptor.clone(), respond.clone());
            tokio::spawn(async move {
                let opened = tokio::time::timeout(HANDSHAKE, open(stream, acceptor)).await;
                let Ok(Ok(mut connection)) = opened else { return };
                if let Some(head) = Head::read(&mut connection).await {
                    respond(head, connection).await;
                }
            });
        }
    });
    address
}

async fn open(stream: tokio::net::TcpStream, acceptor: Option<TlsAcceptor>) -> io::Result<Connection> {
    Ok(match acceptor {
        Some(acceptor) => Box::new(acceptor.accept(stream).await?),
        None => Box::new(stream),
    })
}

/// A certificate authority that nobody knows.
pub struct Authority {
    folder: tempfile::TempDir,
}

impl Authority {
    pub fn new() -> Self {
        let authority = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        authority.openssl(&[
            "-subj",
            "/CN=tests",
            "-keyout",
            "ca.key",
            "-out",
            "ca.crt",
            "-addext",
            "keyUsage=critical,keyCertSign",
        ]);
        authority
    }

    /// Its certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// A server with a certificate for this machine's address.
    pub fn server(&self) -> ServerConfig {
        let name = format!("subjectAltName=IP:{}", machine());
        self.openssl(&[
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-subj",
            "/CN=server",
            "-keyout",
            "server.key",
            "-out",
            "server.crt",
            "-addext",
            &name,
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        let in_folder = |name: &str| self.folder.path().join(name);
        let certificates = CertificateDer::pem_file_iter(in_folder("server.crt")).unwrap();
        let certificates = certificates.map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(in_folder("server.key")).unwrap();
        ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .unwrap()
    }

    fn openssl(&self, arguments: &[&str]) {
        run(Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
            ])
            .args(arguments)
            .current_dir(self.folder.path()));
    }
}

/// Runs a command to a good end; what it printed.
pub fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// The authorities of a registry, as rustls takes them.
pub fn trusting(authority: &Path) -> rustls::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority).unwrap() {
        roots.add(certificate.unwrap()).unwrap();
    }
    rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth()
}
