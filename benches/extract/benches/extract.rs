//! What extraction costs by itself, with criterion's statistics; `run.py` prints the table that compares it with others.

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loopwright_extract::{Events, Parser, Policy, repair_json};
use loopwright_extract_bench::{
    CHUNK, SIZES, broken, feed, json_call, json_prose_call, parser, pieces, prose, small_calls, small_reply, xml_call,
};

fn streams(c: &mut Criterion) {
    for (name, text) in [("json in chunks", json_call as fn(usize) -> String), ("xml in chunks", xml_call)] {
        let mut group = c.benchmark_group(name);
        for size in SIZES {
            let text = text(size);
            group.throughput(Throughput::Elements(pieces(&text, CHUNK)));
            group.bench_with_input(BenchmarkId::from_parameter(size), &text, |b, text| {
                let mut events = Events::new();
                b.iter(|| assert_eq!(feed(parser(), black_box(text), CHUNK, &mut events).1, 1));
            });
        }
        group.finish();
    }
}

fn whole(c: &mut Criterion) {
    let mut group = c.benchmark_group("one shot");
    for (name, text) in [
        ("json, code", json_call(200_000)),
        ("json, prose", json_prose_call(200_000)),
        ("xml, code", xml_call(200_000)),
        ("100 small calls", small_calls(100)),
        ("a small reply", small_reply()),
        ("prose, 16 KB", prose(16_000)),
        ("prose, 1 MB", prose(1_000_000)),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        let mut events = Events::new();
        group.bench_function(name, |b| b.iter(|| black_box(feed(parser(), black_box(&text), usize::MAX, &mut events))));
    }
    group.finish();
    c.bench_function("make a parser", |b| b.iter(|| black_box(Parser::new(None, None, Policy::default()))));
}

fn repair(c: &mut Criterion) {
    let mut group = c.benchmark_group("repair");
    for size in SIZES {
        let text = broken(size);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &text, |b, text| {
            b.iter(|| black_box(repair_json(black_box(text))));
        });
    }
    group.finish();
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = streams, whole, repair
}
criterion_main!(all);
