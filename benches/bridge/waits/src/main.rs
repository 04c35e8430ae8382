//! What one request and its answer cost in CPU time by how many times somebody waits, with nothing else in it.
//!
//! `cargo run --release -- WAITS [REQUESTS] [MICROSECONDS]`, `WAITS` being
//! 1: the caller writes the request and waits for the answer;
//! 2: the caller writes, a second thread waits for the answer and wakes the caller;
//! 3: the caller wakes the second thread, which writes, waits for the answer and wakes the caller.

use std::{
    env,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::UnixStream,
    },
    process::{Command, Stdio},
    thread,
    time::Duration,
};

const REQUEST: [u8; 1500] = [b'r'; 1500];
const ANSWER: [u8; 700] = [b'a'; 700];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    let number = |at: usize, default: u64| arguments.get(at).map_or(default, |text| text.parse().expect("a number"));
    if arguments.get(1).is_some_and(|word| word == "serve") {
        return serve(number(2, 0));
    }
    let (waits, requests, delay) = (number(1, 1), number(2, 6_000), number(3, 100));
    let mut server = Command::new(env::current_exe().unwrap())
        .args(["serve".to_owned(), delay.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = [0; 5];
    server.stdout.as_mut().unwrap().read_exact(&mut port).unwrap();
    let stream = TcpStream::connect(("127.0.0.1", std::str::from_utf8(&port).unwrap().parse().unwrap())).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut turn = turns(waits, stream);
    for _ in 0..requests / 10 {
        turn();
    }
    let (cpu, switches) = used();
    for _ in 0..requests {
        turn();
    }
    let (cpu, switches) = (used().0 - cpu, used().1 - switches);
    let each = |sum: f64| sum / requests as f64;
    println!("{waits} waits: {:.1} us CPU a request, {:.2} switches", each(cpu), each(switches));
    server.kill().unwrap();
    server.wait().unwrap();
}

/// One request, done in the way that is measured.
fn turns(waits: u64, mut stream: TcpStream) -> Box<dyn FnMut()> {
    let mut buffer = [0; 4096];
    if waits == 1 {
        return Box::new(move || {
            stream.write_all(&REQUEST).unwrap();
            wait(&[stream.as_raw_fd()]);
            stream.read_exact(&mut buffer[..ANSWER.len()]).unwrap();
        });
    }
    let (mut woken, mut waker) = UnixStream::pair().unwrap();
    let (mut asked, mut asker) = UnixStream::pair().unwrap();
    let mut far = stream.try_clone().unwrap();
    thread::spawn(move || {
        loop {
            if wait(&[far.as_raw_fd(), asked.as_raw_fd()]) == 1 {
                asked.read_exact(&mut [0]).unwrap();
                far.write_all(&REQUEST).unwrap();
            } else {
                if far.read_exact(&mut buffer[..ANSWER.len()]).is_err() {
                    // The end of the measurement.
                    return;
                }
                waker.write_all(&[1]).unwrap();
            }
        }
    });
    Box::new(move || {
        if waits == 2 {
            stream.write_all(&REQUEST).unwrap()
        } else {
            asker.write_all(&[1]).unwrap()
        }
        wait(&[woken.as_raw_fd()]);
        woken.read_exact(&mut [0]).unwrap();
    })
}

/// Waits until one of these can be read; which.
fn wait(all: &[RawFd]) -> usize {
    let mut polled: Vec<libc::pollfd> =
        all.iter().map(|fd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 }).collect();
    // SAFETY: the array lives as long as the call, and its length is given.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
    assert!(ready > 0);
    polled.iter().position(|one| one.revents != 0).unwrap()
}

/// Microseconds of CPU that this process has used, and how often one of its threads went to sleep.
fn used() -> (f64, f64) {
    // SAFETY: all of it is written by the call.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    (micros(usage.ru_utime) + micros(usage.ru_stime), usage.ru_nvcsw as f64)
}

/// Answers one connection, each request after so many microseconds.
fn serve(delay: u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    print!("{:05}", listener.local_addr().unwrap().port());
    std::io::stdout().flush().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
    let mut request = REQUEST;
    while stream.read_exact(&mut request).is_ok() {
        thread::sleep(Duration::from_micros(delay));
        if stream.write_all(&ANSWER).is_err() {
            return;
        }
    }
}
