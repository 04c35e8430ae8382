//! Exact counts of this crate beside those of others, for each class of text, in one process and one thread.
//!
//!     RAYON_NUM_THREADS=1 cargo run --release --manifest-path benches/tokens/Cargo.toml [ranks.tiktoken]
//!
//! Each is warmed with every second document and timed on the rest, once: what is timed has not been seen. Best of
//! several such rounds, each with caches of its own where that can be had.

mod error;
mod fuzz;
mod texts;

use std::{io::Write, path::Path};

use cpu_time::ThreadTime;

use loopwright_tokens::{cl100k_base, o200k_base};
use texts::Class;

type Count<'a> = Box<dyn FnMut(&str) -> usize + 'a>;

/// Megabytes in a second, on the odd documents after the even ones.
fn speed(class: &Class, mut count: Count<'_>) -> f64 {
    for doc in class.docs.iter().step_by(2) {
        std::hint::black_box(count(doc));
    }
    let unseen: Vec<&String> = class.docs.iter().skip(1).step_by(2).collect();
    let bytes: usize = unseen.iter().map(|doc| doc.len()).sum();
    let start = ThreadTime::now();
    for doc in unseen {
        std::hint::black_box(count(doc));
    }
    bytes as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn best(rounds: usize, mut round: impl FnMut() -> f64 + Send) -> f64 {
    // A thread for each round: our cache belongs to the thread.
    (0..rounds).map(|_| std::thread::scope(|scope| scope.spawn(&mut round).join().unwrap())).fold(0.0, f64::max)
}

fn ranks(path: &str) -> fastokens::Tokenizer {
    let config = fastokens::TiktokenConfig::o200k_base();
    fastokens::Tokenizer::from_tiktoken_file(Path::new(path), config).unwrap()
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    if let Some(cases) = arguments.iter().find_map(|argument| argument.strip_prefix("--fuzz=")) {
        fuzz::run(cases.parse().unwrap(), 3);
        return;
    }
    let only_ours = arguments.iter().any(|argument| argument == "--ours");
    let file = arguments.iter().find(|argument| argument.ends_with(".tiktoken"));

    let start = ThreadTime::now();
    let ours = o200k_base();
    println!("load o200k_base: {:.1} ms of processor time", start.elapsed().as_secs_f64() * 1e3);
    let start = ThreadTime::now();
    let ours_cl100k = cl100k_base();
    println!("load cl100k_base: {:.1} ms of processor time", start.elapsed().as_secs_f64() * 1e3);

    let mut classes = texts::all(&root);
    // For a profile: `--only=prose` and nothing else, many times.
    if let Some(only) = arguments.iter().find_map(|argument| argument.strip_prefix("--only=")) {
        classes.retain(|class| class.name == only);
        for class in &classes {
            println!("{:12} {:6.0}", class.name, best(400, || speed(class, Box::new(|text| ours.count(text)))));
        }
        return;
    }
    for class in &classes {
        println!("{:12} {}", class.name, class.from);
    }
    println!("{:12} {:>6} | {:>6} {:>6} {:>6} | fastok tikt4 bpe-oa tk-rs", "MB/s", "KB", "o200k", "encode", "cl100k");
    for class in &classes {
        let bytes: usize = class.docs.iter().map(String::len).sum();
        let count = best(9, || speed(class, Box::new(|text| ours.count(text))));
        let encode = best(3, || speed(class, Box::new(|text| ours.encode(text).len())));
        let other = best(9, || speed(class, Box::new(|text| ours_cl100k.count(text))));
        print!("{:12} {:6} | {count:6.0} {encode:6.0} {other:6.0} |", class.name, bytes / 1000);
        std::io::stdout().flush().unwrap();
        if !only_ours {
            if let Some(file) = file {
                let fast = best(2, || {
                    let fast = ranks(file);
                    speed(class, Box::new(move |text| fast.encode_ordinary(text).unwrap().len()))
                });
                print!(" {fast:6.0}");
            }
            if quick {
                println!();
                continue;
            }
            let four = tiktoken::get_encoding("o200k_base").unwrap();
            print!(" {:5.0}", best(2, || speed(class, Box::new(|text| four.encode(text).len()))));
            let bpe = bpe_openai::o200k_base();
            print!(" {:6.0}", best(2, || speed(class, Box::new(|text| bpe.count(text)))));
            let rs = tiktoken_rs::o200k_base_singleton();
            print!(" {:5.0}", best(1, || speed(class, Box::new(|text| rs.encode_ordinary(text).len()))));
            for doc in &class.docs {
                assert_eq!(ours.encode(doc), rs.encode_ordinary(doc), "{doc}");
                assert_eq!(ours.count(doc), ours.encode(doc).len());
                assert_eq!(ours_cl100k.encode(doc), tiktoken_rs::cl100k_base_singleton().encode_ordinary(doc), "{doc}");
                assert_eq!(ours_cl100k.count(doc), ours_cl100k.encode(doc).len());
            }
        }
        println!();
    }
    error::table(&classes);
}
