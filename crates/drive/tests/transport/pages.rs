//! Fetching pages.

use super::*;

use loopwright_drive::fetch::{FetchOptions, fetch_page};

/// A site that answers each path in its way.
async fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = vec![0; 65536];
                let read = socket.read(&mut head).await.unwrap();
                let text = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = text.split(' ').nth(1).unwrap_or_default();
                let (status, headers, body) = match path {
                    "/hop" => ("302 Found", "location: /page?x=1\r\n", String::new()),
                    "/loop" => ("302 Found", "location: /loop\r\n", String::new()),
                    "/file" => ("302 Found", "location: file:///etc/passwd\r\n", String::new()),
                    "/big" => ("200 OK", "", "0123456789".repeat(100_000)),
                    "/slow" => {
                        tokio::time::sleep(Duration::from_secs(30)).await;
                        return;
                    }
                    "/gone" => ("404 Not Found", "", "gone".to_owned()),
                    _ => ("200 OK", "content-type: text/html; charset=utf-8\r\n", format!("<p>{path}</p>")),
                };
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                );
                let _ = socket.write_all(answer.as_bytes()).await;
            });
        }
    });
    base
}

#[tokio::test]
async fn a_page_is_fetched_within_bounds() {
    let (base, client) = (site().await, Client::default());
    let options = FetchOptions { allow_private: true, timeout: 5.0, ..FetchOptions::default() };
    let page = fetch_page(&client, &format!("{base}/hop#part"), &options).await.unwrap();
    assert_eq!((page.status, page.url.as_str()), (200, format!("{base}/page?x=1").as_str()));
    assert_eq!(page.content_type.as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!((page.body.as_ref(), page.truncated), (b"<p>/page?x=1</p>".as_slice(), false));
    assert_eq!(fetch_page(&client, &format!("{base}/gone"), &options).await.unwrap().status, 404);

    let short = FetchOptions { max_bytes: 1234, ..options };
    let page = fetch_page(&client, &format!("{base}/big"), &short).await.unwrap();
    assert_eq!((page.body.len(), page.truncated), (1234, true));
    let exact = FetchOptions { max_bytes: 1_000_000, ..options };
    assert!(!fetch_page(&client, &format!("{base}/big"), &exact).await.unwrap().truncated);

    let quick = FetchOptions { timeout: 0.1, ..options };
    for (path, options, code) in
        [("/loop", options, "too_many_redirects"), ("/file", options, "invalid_url"), ("/slow", quick, "timeout")]
    {
        let error = fetch_page(&client, &format!("{base}{path}"), &options).await.unwrap_err();
        assert_eq!(error.code, code, "{error}");
    }
    for url in ["", "no url", "file:///etc/passwd", "gopher://h/", "javascript:1"] {
        assert_eq!(fetch_page(&client, url, &options).await.unwrap_err().code, "invalid_url", "{url}");
    }
}

#[tokio::test]
async fn private_addresses_are_refused_however_written() {
    let base = site().await;
    let port = base.rsplit(':').next().unwrap();
    let client = Client::default();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]", "0", "me:pw@127.0.0.1"]
    {
        let error = fetch_page(&client, &format!("http://{host}:{port}/"), &FetchOptions::default()).await.unwrap_err();
        assert_eq!(error.code, "private_address", "{host}: {error}");
    }
    let metadata = fetch_page(&client, "http://169.254.169.254/latest", &FetchOptions::default()).await.unwrap_err();
    assert_eq!(metadata.code, "private_address");
}
