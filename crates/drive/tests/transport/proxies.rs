//! Proxies from the usual variables.

use super::*;

use loopwright_drive::fetch::{FetchOptions, fetch_page};

/// A proxy that answers plain requests itself by passing them on, and opens tunnels; it notes first lines.
pub(crate) async fn proxy(target: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (notes, target) = (notes.clone(), target.clone());
            tokio::spawn(async move {
                let mut head = vec![0; 65536];
                let read = near.read(&mut head).await.unwrap();
                let text = String::from_utf8_lossy(&head[..read]).into_owned();
                notes.lock().unwrap().push(text.clone());
                let mut far = TcpStream::connect(target).await.unwrap();
                if text.starts_with("CONNECT ") {
                    near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                } else {
                    far.write_all(&head[..read]).await.unwrap();
                }
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (address, seen)
}

fn options(pairs: &[(&str, String)]) -> ClientOptions {
    ClientOptions::from_env(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()))
}

#[tokio::test]
async fn the_usual_variables_name_the_proxy() {
    let server = WireServer::start(Script::always(Reply::text("through"))).unwrap();
    let (address, seen) = proxy(server.url().trim_start_matches("http://").to_owned()).await;
    // The name exists only behind the proxy.
    let endpoint = endpoint_at("http://model.invalid:8000", MODEL);
    for (variable, value) in [
        ("HTTP_PROXY", format!("http://{address}")),
        ("http_proxy", address.clone()),
        ("ALL_PROXY", format!("http://me:pass-word@{address}")),
    ] {
        let client = Client::new(options(&[(variable, value)]));
        let answer = call(&client, &endpoint, true, Timeouts::default()).await.unwrap();
        assert_eq!(answer.message.prose(), "through", "{variable}");
        assert!(!format!("{client:?}").contains("pass-word"));
    }
    let heads = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(heads.len(), 3);
    assert!(heads[0].starts_with("POST http://model.invalid:8000/v1/responses "), "{}", heads[0]);
    assert!(heads[2].to_lowercase().contains("proxy-authorization: basic "), "{}", heads[2]);

    let direct = endpoint_at(&server.url(), MODEL);
    let pairs = [("HTTP_PROXY", format!("http://{address}")), ("NO_PROXY", "127.0.0.1,other".to_owned())];
    assert!(call(&Client::new(options(&pairs)), &direct, true, Timeouts::default()).await.is_ok());
    assert!(seen.lock().unwrap().is_empty(), "NO_PROXY goes past the proxy");

    let client = Client::new(options(&[("HTTPS_PROXY", format!("http://{address}"))]));
    let tunnelled = endpoint_at("https://model.invalid", MODEL);
    let failure = call(&client, &tunnelled, true, Timeouts::default()).await.unwrap_err().failure;
    assert_eq!(failure.kind, FailureKind::Tls, "the far end speaks no TLS: {}", failure.message);
    assert!(seen.lock().unwrap()[0].starts_with("CONNECT model.invalid:443 "));

    for value in ["not a url at all", "ftp://me:pass-word@h"] {
        let client = Client::new(options(&[("ALL_PROXY", value.to_owned())]));
        let failure = call(&client, &direct, true, Timeouts::default()).await.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::Usage, "{}", failure.message);
        assert!(failure.message.contains("ALL_PROXY"), "{}", failure.message);
        assert!(!failure.message.contains("pass-word"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_proxy_that_wants_a_password_is_named_and_told_from_the_provider() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut head = vec![0; 65536];
            let _ = near.read(&mut head).await;
            let _ = near.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await;
        }
    });
    for (variable, base) in [("HTTP_PROXY", "http://model.invalid"), ("HTTPS_PROXY", "https://model.invalid")] {
        let client = Client::new(options(&[(variable, format!("http://me:pass-word@{address}"))]));
        let failure = call(&client, &endpoint_at(base, MODEL), true, Timeouts::default()).await.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::Usage, "{}", failure.message);
        assert!(failure.message.contains(variable) && failure.message.contains("USER:PASSWORD"), "{}", failure.message);
        assert!(!failure.message.contains("pass-word"), "{}", failure.message);
        // What it says for itself is no page.
        let error = fetch_page(&client, base, &FetchOptions::default()).await.unwrap_err();
        assert!(error.message.contains(variable) && error.message.contains("USER:PASSWORD"), "{error}");
        assert!(!error.to_string().contains("pass-word"), "{error}");
    }
}

/// A field of SOCKS5: its length in one byte, and so many bytes.
async fn field(near: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; near.read_u8().await.unwrap().into()];
    near.read_exact(&mut bytes).await.unwrap();
    bytes
}

/// A SOCKS5 proxy to `target`, whatever name it is asked for; it notes the names. With a user and a password it lets
/// nobody else in.
async fn socks(target: String, known: Option<(&'static str, &'static str)>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (notes, target) = (notes.clone(), target.clone());
            tokio::spawn(async move {
                assert_eq!(near.read_u8().await.unwrap(), 5);
                let method = if known.is_some() { 2 } else { 0 };
                if !field(&mut near).await.contains(&method) {
                    near.write_all(&[5, 0xff]).await.unwrap();
                    return;
                }
                near.write_all(&[5, method]).await.unwrap();
                if let Some((user, password)) = known {
                    assert_eq!(near.read_u8().await.unwrap(), 1);
                    let right = field(&mut near).await == user.as_bytes();
                    let right = field(&mut near).await == password.as_bytes() && right;
                    near.write_all(&[1, u8::from(!right)]).await.unwrap();
                    if !right {
                        return;
                    }
                }
                let mut head = [0; 4];
                near.read_exact(&mut head).await.unwrap();
                assert_eq!(head, [5, 1, 0, 3], "a connection to a name");
                let name = String::from_utf8(field(&mut near).await).unwrap();
                let port = near.read_u16().await.unwrap();
                notes.lock().unwrap().push(format!("{name}:{port}"));
                near.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
                let mut far = TcpStream::connect(target).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (address, seen)
}

#[tokio::test]
async fn a_socks_proxy_looks_names_up_itself() {
    let server = WireServer::start(Script::always(Reply::text("through"))).unwrap();
    let target = server.url().trim_start_matches("http://").to_owned();
    let endpoint = endpoint_at("http://model.invalid:8000", MODEL);
    for known in [None, Some(("me", "pass word"))] {
        let (address, seen) = socks(target.clone(), known).await;
        let value = if known.is_some() {
            format!("socks5h://me:pass%20word@{address}")
        } else {
            format!("socks5h://{address}")
        };
        let client = Client::new(options(&[("ALL_PROXY", value)]));
        let answer = call(&client, &endpoint, true, Timeouts::default()).await.unwrap();
        assert_eq!(answer.message.prose(), "through");
        assert_eq!(*seen.lock().unwrap(), ["model.invalid:8000"]);
    }
}

#[tokio::test]
async fn a_socks_proxy_that_wants_another_password_is_no_trouble_that_passes() {
    let (address, seen) = socks("127.0.0.1:1".to_owned(), Some(("me", "pass-word"))).await;
    for (given, says) in [("", "wants a user and a password"), ("me:other-word@", "does not take the user")] {
        let client = Client::new(options(&[("ALL_PROXY", format!("socks5h://{given}{address}"))]));
        let failure = call(&client, &endpoint_at("http://model.invalid", MODEL), true, Timeouts::default()).await;
        let failure = failure.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::Usage, "{}", failure.message);
        for words in ["ALL_PROXY", says, "socks5h://USER:PASSWORD@HOST:PORT"] {
            assert!(failure.message.contains(words), "{}", failure.message);
        }
        assert!(!failure.message.contains("-word"), "{}", failure.message);
    }
    assert!(seen.lock().unwrap().is_empty());
}

#[tokio::test]
async fn only_a_proxy_that_is_used_is_blamed() {
    let nobody = "http://127.0.0.1:1".to_owned();
    for (pairs, blamed) in [
        (vec![("HTTP_PROXY", nobody.clone())], true),
        (vec![("HTTPS_PROXY", nobody.clone())], false),
        (vec![("ALL_PROXY", nobody.clone()), ("NO_PROXY", "127.0.0.1:2".to_owned())], false),
        (vec![("ALL_PROXY", nobody.clone()), ("NO_PROXY", "127.0.0.1:3".to_owned())], true),
    ] {
        let client = Client::new(options(&pairs));
        let endpoint = endpoint_at("http://127.0.0.1:2", MODEL);
        let failure = call(&client, &endpoint, true, Timeouts::default()).await.unwrap_err().failure;
        assert_eq!(failure.kind, FailureKind::Connect);
        assert_eq!(failure.message.contains("PROXY is set"), blamed, "{pairs:?}: {}", failure.message);
        let hint = failure.to_error().hint.unwrap_or_default();
        assert_eq!(hint.contains("the proxy 127.0.0.1:1 runs"), blamed, "{pairs:?}: {hint}");
    }
}
