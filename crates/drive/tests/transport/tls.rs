//! Whom we trust, and HTTP/2.

use super::*;

use std::{io::Write, path::PathBuf};

use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
        sign::{CertifiedKey, SingleCertAndKey},
    },
};

/// A file that is removed again.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Temporary {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("loopwright-{}-{name}", std::process::id()));
        std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a server needs that shows `certificate`.
fn showing(certificate: &rcgen::Certificate, key: &rcgen::KeyPair, protocols: &[&str]) -> TlsAcceptor {
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    // Whether the key belongs to it is for the client to find out.
    let shown =
        CertifiedKey::new(vec![certificate.der().clone()], provider.key_provider.load_private_key(private).unwrap());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// What a server for `name` needs, and the CA that signed its certificate.
fn identity(name: &str, protocols: &[&str]) -> (TlsAcceptor, String) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    (showing(&leaf, &key, protocols), ca_certificate.pem())
}

/// A TLS server in front of the wire server: its address and the CA that signed it.
async fn in_front(server: &WireServer, name: &str) -> (String, String) {
    let (acceptor, ca) = identity(name, &[]);
    (accepting(server, acceptor).await, ca)
}

/// The same for `localhost`, with protocols that it would rather speak.
pub(crate) async fn in_front_with(server: &WireServer, protocols: &[&str]) -> (String, String) {
    let (acceptor, ca) = identity("localhost", protocols);
    (accepting(server, acceptor).await, ca)
}

/// A TLS server in front of the wire server.
async fn accepting(server: &WireServer, acceptor: TlsAcceptor) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let target = server.url().trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, target) = (acceptor.clone(), target.clone());
            tokio::spawn(async move {
                let Ok(mut near) = acceptor.accept(socket).await else { return };
                let mut far = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    format!("https://localhost:{port}")
}

/// What a server of HTTP/2 has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    streams: AtomicUsize,
    resets: AtomicUsize,
}

/// A server of HTTP/2 that sends `events`: all of them, or a few and then a reset (for `/cut`) or silence (for
/// `/hang`), or a reset before anything else (for `/refuse`).
async fn http2(events: Vec<String>) -> (String, String, Arc<Seen>) {
    let (acceptor, ca) = identity("localhost", &["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let noted = seen.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, events, noted) = (acceptor.clone(), events.clone(), noted.clone());
            tokio::spawn(async move {
                noted.connections.fetch_add(1, Ordering::SeqCst);
                let socket = acceptor.accept(socket).await.unwrap();
                let mut connection = h2::server::handshake(socket).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    noted.streams.fetch_add(1, Ordering::SeqCst);
                    let (events, noted) = (events.clone(), noted.clone());
                    tokio::spawn(async move {
                        let path = request.uri().path().to_owned();
                        if path.starts_with("/refuse") {
                            return respond.send_reset(h2::Reason::INTERNAL_ERROR);
                        }
                        let head = http::Response::builder().header("content-type", "text/event-stream");
                        let mut body = respond.send_response(head.body(()).unwrap(), false).unwrap();
                        let few = if path.starts_with("/v1") { events.len() } else { 8 };
                        for event in events.into_iter().take(few) {
                            body.send_data(event.into(), false).unwrap();
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        if path.starts_with("/cut") {
                            body.send_reset(h2::Reason::INTERNAL_ERROR);
                        } else if path.starts_with("/hang") {
                            let reset = std::future::poll_fn(|context| body.poll_reset(context)).await;
                            assert_eq!(reset.unwrap(), h2::Reason::CANCEL);
                            noted.resets.fetch_add(1, Ordering::SeqCst);
                        } else {
                            body.send_data("".into(), true).unwrap();
                        }
                    });
                }
            });
        }
    });
    (format!("https://localhost:{port}"), ca, seen)
}

#[tokio::test]
async fn http_2_is_spoken_where_it_is_offered() {
    let response = Response { message: Message::assistant(LONG), stop: StopReason::EndTurn, ..with_tool() };
    let events = encode_stream(Wire::OpenaiResponses, &response, 4);
    let events = events.iter().map(|(name, data)| format!("event: {name}\ndata: {data}\n\n")).collect();
    let (base, ca, seen) = http2(events).await;
    let ca = Temporary::new("http2.pem", &ca);
    let client = Client::new(ClientOptions::default().ca_file(&ca.0));
    let endpoint = endpoint_at(&base, MODEL);
    let once = || call(&client, &endpoint, true, Timeouts::default());
    assert_eq!(once().await.unwrap().message.prose(), LONG);
    let all = futures_util::future::join_all((0..20).map(|_| once())).await;
    assert!(all.iter().all(|outcome| outcome.as_ref().unwrap().message.prose() == LONG));
    assert_eq!(seen.connections.load(Ordering::SeqCst), 1, "20 calls at once share one connection");

    let cut = endpoint_at(&format!("{base}/cut"), MODEL);
    let failure = call(&client, &cut, true, Timeouts::default()).await.unwrap_err();
    assert_eq!(failure.failure.kind, FailureKind::Cut, "{failure}");
    assert!(failure.visible && failure.partial.is_some());

    let hang = endpoint_at(&format!("{base}/hang"), MODEL);
    let hanging = call(&client, &hang, true, Timeouts::default());
    assert!(tokio::time::timeout(Duration::from_millis(100), hanging).await.is_err());
    eventually("the stream is reset", Duration::from_millis(100), || seen.resets.load(Ordering::SeqCst) == 1).await;
    // The others go on over the same connection.
    assert_eq!(once().await.unwrap().message.prose(), LONG);
    assert_eq!(seen.connections.load(Ordering::SeqCst), 1);
    assert_eq!(seen.streams.load(Ordering::SeqCst), 24);

    let refuse = endpoint_at(&format!("{base}/refuse"), MODEL);
    let failure = call(&client, &refuse, true, Timeouts::default()).await.unwrap_err();
    assert_eq!(failure.failure.kind, FailureKind::Cut, "{failure}");
    assert!(!failure.visible);
    let sent = seen.streams.load(Ordering::SeqCst);
    assert_eq!((sent, seen.connections.load(Ordering::SeqCst)), (25, 1), "the connection stands: once is enough");
}

async fn outcome(base: &str, options: ClientOptions) -> Result<Response, Failure> {
    let endpoint = endpoint_at(base, MODEL);
    let outcome = call(&Client::new(options), &endpoint, true, Timeouts::default()).await;
    outcome.map_err(|failure| failure.failure)
}

#[tokio::test]
async fn only_trusted_servers_are_spoken_to() {
    let server = WireServer::start(Script::always(Reply::text("secret"))).unwrap();
    let (base, ca) = in_front(&server, "localhost").await;

    let failure = outcome(&base, ClientOptions::default()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
    assert!(failure.message.contains("signed by nobody we trust"), "{}", failure.message);
    assert!(failure.to_error().to_string().contains("SSL_CERT_FILE"));

    let (_, other) = in_front(&server, "localhost").await;
    let other = Temporary::new("other.pem", &other);
    let failure = outcome(&base, ClientOptions::default().ca_file(&other.0)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
    assert_eq!(server.asked(), 0, "no request, and so no key, went out");

    let right = Temporary::new("right.pem", &ca);
    for variable in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"] {
        let options =
            ClientOptions::from_env(|name| (name == variable).then(|| right.0.to_string_lossy().into_owned()));
        assert_eq!(outcome(&base, options).await.unwrap().message.prose(), "secret", "{variable}");
    }
    let directory = right.0.with_extension("d");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("ca.pem"), &ca).unwrap();
    std::fs::write(directory.join("README"), "no certificate").unwrap();
    let options = ClientOptions {
        roots: vec![("SSL_CERT_DIR".into(), RootSource::Directory(directory.clone()))],
        ..ClientOptions::default()
    };
    assert_eq!(outcome(&base, options).await.unwrap().message.prose(), "secret");
    std::fs::remove_dir_all(directory).unwrap();

    let (base, ca) = in_front(&server, "elsewhere.example").await;
    let ca = Temporary::new("name.pem", &ca);
    let failure = outcome(&base, ClientOptions::default().ca_file(&ca.0)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls);
    assert!(failure.message.contains("another name"), "{}", failure.message);
    // No CA would change that.
    assert!(!failure.to_error().to_string().contains("SSL_CERT_FILE"), "{}", failure.to_error());
    // Plain HTTP where TLS was expected.
    let failure = outcome(&server.url().replace("http", "https"), ClientOptions::default()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
    assert!(failure.message.contains("http://"), "{}", failure.message);
}

/// A certificate for `name` that signed itself, and its key.
fn self_signed(name: &str, change: impl FnOnce(&mut rcgen::CertificateParams)) -> (rcgen::Certificate, rcgen::KeyPair) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned(), "127.0.0.1".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    change(&mut parameters);
    (parameters.self_signed(&key).unwrap(), key)
}

#[tokio::test]
async fn w31_a_server_that_shows_a_trusted_certificate_itself_is_trusted() {
    let server = WireServer::start(Script::always(Reply::text("mine"))).unwrap();
    let trusting = |name: &str, pem: &str| {
        let file = Temporary::new(name, pem);
        let options = ClientOptions::default().ca_file(&file.0);
        (file, options)
    };
    // Signed by itself, as a signer of others (what `openssl req -x509` makes) or not, and signed by somebody unknown.
    let issuer =
        rcgen::Issuer::new(rcgen::CertificateParams::new(Vec::new()).unwrap(), rcgen::KeyPair::generate().unwrap());
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let leaf = rcgen::CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
    let (twin, _) = self_signed("localhost", |_| {});
    for (certificate, key) in [
        self_signed("localhost", |_| {}),
        self_signed("localhost", |parameters| parameters.is_ca = rcgen::IsCa::ExplicitNoCa),
        (leaf, key),
    ] {
        let base = accepting(&server, showing(&certificate, &key, &[])).await;
        let (_file, options) = trusting("shown.pem", &certificate.pem());
        for base in [base.clone(), base.replace("localhost", "127.0.0.1")] {
            assert_eq!(outcome(&base, options.clone()).await.unwrap().message.prose(), "mine");
        }
        let asked = server.asked();
        let failure = outcome(&base, ClientOptions::default()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
        assert!(failure.to_error().to_string().contains("SSL_CERT_FILE"), "{}", failure.to_error());
        // One that says the same is another one all the same.
        let (_file, options) = trusting("twin.pem", &twin.pem());
        assert_eq!(outcome(&base, options).await.unwrap_err().kind, FailureKind::Tls);
        assert_eq!(server.asked(), asked);
    }
}

#[tokio::test]
async fn its_name_and_its_time_count_all_the_same() {
    let server = WireServer::start(Script::always(Reply::text("secret"))).unwrap();
    let date = rcgen::date_time_ymd;
    for (certificate, says) in [
        (self_signed("elsewhere.example", |p| p.subject_alt_names.truncate(1)), "another name"),
        (self_signed("localhost", |p| p.not_after = date(2020, 1, 1)), "has expired"),
        (self_signed("localhost", |p| p.not_before = date(2090, 1, 1)), "not valid"),
        (self_signed("localhost", |p| (p.is_ca, p.not_after) = (rcgen::IsCa::NoCa, date(2020, 1, 1))), "has expired"),
    ] {
        let (certificate, key) = certificate;
        let base = accepting(&server, showing(&certificate, &key, &[])).await;
        let file = Temporary::new("wrong.pem", &certificate.pem());
        let failure = outcome(&base, ClientOptions::default().ca_file(&file.0)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
        assert!(failure.message.contains(says), "{says}: {}", failure.message);
    }
    // Nor does a server pass that has the certificate and not its key.
    let (certificate, _) = self_signed("localhost", |_| {});
    let (_, other) = self_signed("localhost", |_| {});
    let base = accepting(&server, showing(&certificate, &other, &[])).await;
    let file = Temporary::new("stolen.pem", &certificate.pem());
    let failure = outcome(&base, ClientOptions::default().ca_file(&file.0)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.message);
    assert_eq!(server.asked(), 0, "no request, and so no key, went out");
}

#[tokio::test]
async fn a_wrong_ca_file_is_told_when_it_is_needed() {
    let server = WireServer::start(Script::always(Reply::text("fine"))).unwrap();
    let (base, _) = in_front(&server, "localhost").await;
    let empty = Temporary::new("empty.pem", "not a certificate");
    for path in ["/no/such/file.pem", empty.0.to_str().unwrap()] {
        let options = ClientOptions::from_env(|name| (name == "SSL_CERT_FILE").then(|| path.to_owned()));
        let failure = outcome(&base, options.clone()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Usage, "{}", failure.message);
        assert!(failure.message.contains("SSL_CERT_FILE") && failure.message.contains(path), "{}", failure.message);
        // Plain HTTP does not need it.
        assert!(outcome(&server.url(), options).await.is_ok());
    }
}
