//! The provider: prints its address as the first line and serves until it is killed or its standard input closes.

use std::io::{Read as _, Write as _};

use loopwright_peers_server::serve::serve;
use tokio::net::TcpSocket;

fn main() -> std::io::Result<()> {
    // Whoever started this holds the other end of stdin; when it goes away, so does the server.
    std::thread::spawn(|| {
        let mut sink = [0_u8; 64];
        while std::io::stdin().read(&mut sink).is_ok_and(|count| count > 0) {}
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(([127, 0, 0, 1], 0).into())?;
        let listener = socket.listen(4096)?;
        let mut out = std::io::stdout();
        writeln!(out, "http://{}", listener.local_addr()?)?;
        out.flush()?;
        serve(listener).await
    })
}
