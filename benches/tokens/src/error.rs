//! How far estimates are off, for each class of text and size of chunk.

use cpu_time::ThreadTime;

use loopwright_tokens::o200k_base;

use crate::texts::{Class, cut};

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted.get(((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

pub fn table(classes: &[Class]) {
    let ours = o200k_base();
    println!("\nestimate: error in % (median, p95), speed at that size in MB/s; chars/4: p95");
    println!("{:12} | {:>22} | {:>22} | {:>22}", "", "4 KB", "32 KB", "256 KB");
    for class in classes {
        print!("{:12} |", class.name);
        for size in [4_096, 32_768, 262_144] {
            // Documents of a class one after another, so that there are chunks of every size.
            let chunks: Vec<String> =
                cut(&[class.docs.concat()], size).into_iter().filter(|chunk| chunk.len() * 2 > size).collect();
            let mut errors = Vec::new();
            let mut naive = Vec::new();
            for chunk in &chunks {
                let exact = ours.count(chunk) as f64;
                errors.push((ours.estimate(chunk) as f64 / exact - 1.0).abs() * 100.0);
                naive.push((chunk.chars().count() as f64 / 4.0 / exact - 1.0).abs() * 100.0);
            }
            errors.sort_by(f64::total_cmp);
            naive.sort_by(f64::total_cmp);
            let bytes: usize = chunks.iter().map(String::len).sum();
            let mut best = 0.0_f64;
            for _ in 0..5 {
                let start = ThreadTime::now();
                for chunk in &chunks {
                    std::hint::black_box(ours.estimate(chunk));
                }
                best = best.max(bytes as f64 / start.elapsed().as_secs_f64() / 1e6);
            }
            print!(" {:4.1} {:4.1} {:5.0} ({:3.0}) |", at(&errors, 0.5), at(&errors, 0.95), best, at(&naive, 0.95));
        }
        println!();
    }
}
