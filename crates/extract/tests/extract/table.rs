//! The table of dialects is consistent with itself, and with the page about it.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_extract::{
    Dialect, First, Verdict, dialect_for, dialect_named, dialect_table, dialects, frames, inert_regions,
    reasoning_markups,
};

use crate::reading::{Setup, each, read};

#[test]
fn rows_are_whole_and_names_unique() {
    let mut names = BTreeSet::new();
    let mut patterns = BTreeMap::new();
    assert!(dialects().len() >= 45);
    for dialect in dialects() {
        let name = dialect.name;
        assert!(names.insert(name), "{name} stands twice");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b)), "{name}");
        assert!(!dialect.models.is_empty() && !dialect.open.is_empty() && !dialect.close.is_empty(), "{name}");
        assert_eq!(dialect_named(name), Some(dialect));
        let unmarked = dialect.open.contains(&"");
        assert!(!unmarked || dialect.bare || matches!(dialect.first, First::OneOf(_)), "{name}: nothing would arm it");
        for pattern in dialect.patterns {
            let plain = pattern.replace(['-', '_', ' '], "");
            assert_eq!(plain, plain.to_lowercase(), "{pattern}");
            if let Some(other) = patterns.insert(plain, name) {
                panic!("{pattern} says {other} and {name}");
            }
        }
    }
}

/// The rows in order that `marker` may open, and those of its spellings.
fn rows_of(marker: &str) -> Vec<&'static Dialect> {
    dialects().iter().filter(|dialect| dialect.open.contains(&marker)).collect()
}

#[test]
fn what_shares_a_marker_is_told_by_what_follows() {
    for dialect in dialects() {
        let example = dialect.example();
        for open in dialect.open.iter().filter(|open| !open.is_empty()) {
            let written = dialect.open[0];
            let Some(at) = example.find(written) else { panic!("{}: no opener in {example:?}", dialect.name) };
            let rest = &example.as_bytes()[at + written.len()..];
            let winner = rows_of(open).into_iter().find(|row| row.first.holds(rest, true) == Verdict::Yes);
            let Some(winner) = winner else { panic!("{}: nobody reads {example:?}", dialect.name) };
            // Two rows that read the same and are only written differently.
            let same = std::mem::discriminant(&winner.grammar) == std::mem::discriminant(&dialect.grammar)
                && winner.first == dialect.first
                && winner.close == dialect.close;
            assert!(winner == dialect || same, "{example:?} of {} goes to {}", dialect.name, winner.name);
        }
    }
}

#[test]
fn no_marker_means_two_things() {
    let calls: BTreeSet<&str> = dialects()
        .iter()
        .flat_map(|dialect| dialect.open.iter().chain(dialect.section.map_or(&[][..], |(open, _)| open)))
        .copied()
        .filter(|marker| !marker.is_empty())
        .collect();
    let mut others: Vec<(&str, &str)> = Vec::new();
    others.extend(reasoning_markups().iter().flat_map(|row| row.open.iter().map(|open| (row.name, *open))));
    others.extend(inert_regions().iter().flat_map(|row| row.open.iter().map(|open| (row.name, *open))));
    others.extend(frames().iter().flat_map(|row| row.open.iter().map(|open| (row.name, *open))));
    let mut seen = BTreeSet::new();
    for (name, marker) in &others {
        assert!(seen.insert(*marker), "{marker} of {name} stands twice");
        assert!(!calls.contains(marker), "{marker} of {name} opens calls too");
        assert!(marker.len() >= 5, "{marker} of {name} is too short to be safe");
    }
}

#[test]
fn d08_each_example_is_read_as_what_it_is() {
    each(dialects(), |dialect| {
        let example = dialect.example();
        let schema = serde_json::json!({"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}});
        let setup = Setup::tools(&[("get_weather", schema)]);
        let setup = if dialect.bare { setup.bare() } else { setup };
        let reading = read(&example, &setup);
        assert_eq!(
            reading.called(),
            [("get_weather", serde_json::json!({"city": "Oslo", "days": 3}))],
            "{}: {example}",
            dialect.name
        );
        assert!(reading.calls[0].complete && !reading.calls[0].repaired, "{}: {:?}", dialect.name, reading.calls);
        assert_eq!(reading.prose, "", "{}", dialect.name);
        // By its own name alone it is read as itself.
        let own = read(&example, &setup.only(&[dialect.name]));
        assert_eq!(own.calls[0].dialect, dialect.name);
        assert_eq!(own.called(), reading.called());
    });
}

#[test]
fn models_are_known_by_the_names_that_people_use() {
    for (model, expected) in [
        ("NousResearch/Hermes-3-Llama-3.1-405B", "hermes"),
        ("nousresearch/hermes-4-70b", "hermes"),
        ("hermes3:8b", "hermes"),
        ("Qwen/Qwen2.5-72B-Instruct", "hermes"),
        ("qwen2.5-coder:32b", "hermes"),
        ("qwen/qwen3-235b-a22b-2507", "hermes"),
        ("qwen3:8b", "hermes"),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", "hermes"),
        ("Qwen/QwQ-32B", "hermes"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"),
        ("qwen/qwen3-coder:free", "qwen3-coder"),
        ("qwen3-coder:30b", "qwen3-coder"),
        ("Qwen/Qwen3.5-397B-A17B", "qwen3-coder"),
        ("XiaomiMiMo/MiMo-V2-Flash", "qwen3-coder"),
        ("stepfun-ai/Step-3.5-Flash", "qwen3-coder"),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-coder"),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "nemotron"),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3"),
        ("meta-llama/Meta-Llama-3.1-405B-Instruct", "llama-3"),
        ("meta-llama/llama-3.3-70b-instruct", "llama-3"),
        ("llama3.1:8b", "llama-3"),
        ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-3"),
        ("us.meta.llama3-1-8b-instruct-v1:0", "llama-3"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4"),
        ("llama4:maverick", "llama-4"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-v7"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistral-v7"),
        ("mistral-nemo:12b", "mistral-v7"),
        ("mistralai/Mistral-Small-24B-Instruct-2501", "mistral-v7"),
        ("mistralai/Mistral-Small-3.2-24B", "mistral"),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral"),
        ("mistralai/Magistral-Small-2509", "mistral"),
        ("mistralai/devstral-medium", "mistral"),
        ("mistralai/Ministral-3-8B-Instruct-2512", "mistral"),
        ("deepseek-ai/DeepSeek-V3", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"),
        ("deepseek-r1:671b", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "hermes"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "llama-3"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1"),
        ("deepseek/deepseek-chat-v3.1:free", "deepseek-v3.1"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3.1"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3.2"),
        ("deepseek-ai/DeepSeek-V4", "deepseek-v4"),
        ("deepseek-ai/DeepSeek-V4.1", "deepseek-v4.1"),
        ("moonshotai/kimi-k2-thinking", "kimi-k2"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"),
        ("moonshotai/Kimi-K2.5", "kimi-k2"),
        ("moonshotai/Kimi-K3", "kimi-k3"),
        ("zai-org/GLM-4.5-Air", "glm-4.5"),
        ("zai-org/GLM-4.6", "glm-4.5"),
        ("z-ai/glm-4.7", "glm-4.7"),
        ("zai-org/GLM-5", "glm-4.7"),
        ("google/gemma-3-27b-it", "pythonic"),
        ("google/gemma-4-31b-it", "gemma-4"),
        ("google/functiongemma-270m-it", "functiongemma"),
        ("openai/gpt-oss-20b", "harmony"),
        ("gpt-oss:120b", "harmony"),
        ("MiniMaxAI/MiniMax-M1-80k", "minimax-m1"),
        ("MiniMaxAI/MiniMax-M2", "minimax-m2"),
        ("minimax/minimax-m2.5", "minimax-m2"),
        ("MiniMaxAI/MiniMax-M3", "minimax-m3"),
        ("ibm-granite/granite-3.0-8b-instruct", "granite-3.0"),
        ("ibm-granite/granite-3.3-8b-instruct", "granite"),
        ("granite3.3:8b", "granite"),
        ("ibm-granite/granite-4.0-h-small", "hermes"),
        ("ibm-granite/granite-20b-functioncalling", "granite-20b"),
        ("CohereLabs/c4ai-command-a-03-2025", "cohere"),
        ("command-r7b:7b", "cohere"),
        ("microsoft/Phi-4-mini-instruct", "phi-4-mini"),
        ("phi4-mini:3.8b", "phi-4-mini"),
        ("internlm/internlm2_5-7b-chat", "internlm"),
        ("ai21labs/AI21-Jamba-1.5-Mini", "jamba"),
        ("tencent/Hunyuan-A13B-Instruct", "jamba"),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed"),
        ("stepfun-ai/step3", "step-3"),
        ("baidu/ERNIE-4.5-21B-A3B-Thinking", "hermes"),
        ("meituan-longcat/LongCat-Flash-Chat", "longcat"),
        ("LiquidAI/LFM2-8B-A1B", "lfm2"),
        ("allenai/Olmo-3-7B-Instruct", "olmo-3"),
        ("swiss-ai/Apertus-70B-Instruct-2509", "apertus"),
        ("Salesforce/Llama-xLAM-2-8b-fc-r", "json-array"),
        ("Salesforce/xLAM-7b-fc-r", "json-array"),
        ("Team-ACE/ToolACE-2-Llama-3.1-8B", "pythonic"),
        ("anthropic/claude-sonnet-4.5", "anthropic"),
        ("openbmb/MiniCPM5-8B", "minicpm-5"),
        // One model by several names; a fine-tune by its own habit, not by that of what it was made from.
        ("@hf/nousresearch/hermes-2-pro-mistral-7b", "hermes"),
        ("NousResearch/Hermes-2-Pro-Llama-3-8B", "hermes"),
        ("NousResearch/DeepHermes-3-Mistral-24B-Preview", "hermes"),
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct-HF", "llama-3"),
        ("nemotron:70b", "llama-3"),
        ("moonshotai/kimi-dev-72b", "hermes"),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", "kimi-k2"),
        ("PrimeIntellect/INTELLECT-3", "qwen3-coder"),
        ("LGAI-EXAONE/EXAONE-4.0-32B", "hermes"),
        ("arcee-ai/trinity-mini", "hermes"),
        ("alibaba/tongyi-deepresearch-30b-a3b", "hermes"),
        ("essentialai/rnj-1-instruct", "hermes"),
        ("microsoft/mai-ds-r1", "deepseek-v3"),
        ("deepseek/deepseek-chat-v3-0324:free", "deepseek-v3"),
        ("deepseek/deepseek-chat", "deepseek-v3.2"),
        ("deepseek.v3-v1:0", "deepseek-v3.1"),
        ("us.deepseek.r1-v1:0", "deepseek-v3"),
        ("deepseek.v3.2", "deepseek-v3.2"),
        ("deepseek-r1:70b", "llama-3"),
        ("deepseek-r1:7b", "hermes"),
        ("deepseek-r1:32b", "hermes"),
        ("mistralai/Mistral-Large-Instruct-2411", "mistral-v7"),
        ("mistral-large:123b", "mistral-v7"),
        ("mistral.mistral-large-2407-v1:0", "mistral-v7"),
        ("mistralai/mistral-large-2512", "mistral"),
        ("mistralai/Mistral-Large-3-675B-Instruct-2512", "mistral"),
        ("mistral-large-latest", "mistral"),
        ("mistral-small-2503", "mistral-v7"),
        ("mistral-small3.1:24b", "mistral-v7"),
        ("mistral-small3.2:24b", "mistral"),
        ("mistralai/Ministral-8B-Instruct-2410", "mistral-v7"),
        ("ministral-3b-2410", "mistral-v7"),
        ("mistralai/ministral-8b-2512", "mistral"),
        ("ministral-3:8b", "mistral"),
        ("meta-llama/Llama-3.2-3B-Instruct", "pythonic"),
        ("llama3.2:3b", "pythonic"),
        ("us.meta.llama3-2-3b-instruct-v1:0", "pythonic"),
        ("llama3.2-vision:11b", "llama-3"),
    ] {
        assert_eq!(dialect_for(model).map(|dialect| dialect.name), Some(expected), "{model}");
    }
    // Command R writes `Action:` and a fence.
    for model in ["cohere/command-r-08-2024", "command-r-plus:104b"] {
        assert_eq!(dialect_for(model), None, "{model}");
    }
    for model in ["openai/gpt-4o", "gpt-5-mini", "google/gemini-2.5-pro", "x-ai/grok-4", ""] {
        assert_eq!(dialect_for(model), None, "{model}");
    }
}

#[test]
fn the_table_in_the_docs_is_that_of_the_code() {
    const START: &str = "<!-- dialects: written by the code -->\n";
    const END: &str = "<!-- end of dialects -->";
    let path = loopwright_testing::data::file("docs/extraction.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let written = text.split(START).nth(1).and_then(|rest| rest.split(END).next()).unwrap_or_default();
    if written != dialect_table() && std::env::var_os("LOOPWRIGHT_WRITE_DOCS").is_some() {
        let (before, after) = (text.split(START).next().unwrap(), text.split(END).nth(1).unwrap());
        std::fs::write(&path, format!("{before}{START}{}{END}{after}", dialect_table())).unwrap();
        return;
    }
    assert!(written == dialect_table(), "{} is stale: run this test with LOOPWRIGHT_WRITE_DOCS=1", path.display());
}

#[test]
fn e9_a_model_that_came_after_the_table_is_read_as_the_last_of_its_family() {
    for (model, dialect) in [
        ("Qwen3.8-27B", "qwen3-coder"),
        ("Qwen/Qwen3.7-Max", "qwen3-coder"),
        ("qwen4:32b", "qwen3-coder"),
        ("qwen-3.10-plus", "qwen3-coder"),
        ("Qwen3-30B-A3B", "hermes"),
        ("Qwen2.5-72B-Instruct", "hermes"),
        ("DeepSeek-V3.3", "deepseek-v3.2"),
        ("deepseek/deepseek-v4.2-flash", "deepseek-v4.1"),
        ("DeepSeek-V5", "deepseek-v4.1"),
        ("DeepSeek-V3-0324", "deepseek-v3"),
        ("deepseek-r2", "deepseek-v3"),
        ("moonshotai/Kimi-K2.7", "kimi-k2"),
        ("Kimi-K3.5", "kimi-k3"),
        ("kimi-k4", "kimi-k3"),
        ("zai-org/GLM-4.8", "glm-4.7"),
        ("glm-6-air", "glm-4.7"),
        ("glm45-air", "glm-4.5"),
        ("MiniMax-M4", "minimax-m3"),
        ("MiniMax-M2.7", "minimax-m2"),
        ("meta-llama/Llama-5-Scout", "llama-4"),
        ("llama-3.4-8b", "llama-3"),
        ("google/gemma-5-30b", "gemma-4"),
        ("gemma-3-27b-it", "pythonic"),
        ("ibm-granite/granite-5.0-8b", "hermes"),
        ("granite-3.4-8b", "granite"),
        ("step-3.7-flash", "qwen3-coder"),
        ("LFM3-8B", "lfm2"),
        ("OLMo-4-32B", "olmo-3"),
        ("hunyuan-5", "hunyuan-v4"),
        ("ernie-5.0", "hermes"),
        ("NousResearch/Hermes-3-Llama-3.1-405B", "hermes"),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "nemotron"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "hermes"),
        ("inkling", "inkling"),
        ("harmony", "harmony"),
    ] {
        assert_eq!(dialect_for(model).map(|dialect| dialect.name), Some(dialect), "{model}");
    }
    for model in ["llama-2-7b-chat", "gemma-2-9b", "glm-4-9b-chat", "some-model", "codellama-7b", ""] {
        assert_eq!(dialect_for(model).map(|dialect| dialect.name), None, "{model}");
    }
}

#[test]
fn e9_both_forms_of_a_family_are_read_by_either_name() {
    each(dialects().iter().filter(|row| !row.form_of.is_empty()), |form| {
        let main = dialect_named(form.form_of).unwrap();
        for written in [form, main] {
            let example = written.example();
            for named in [form.name, main.name] {
                let reading = read(&example, &Setup::names(&["get_weather"]).only(&[named]));
                assert_eq!(reading.calls.len(), 1, "{example} as {named}: {reading:?}");
                assert!(reading.calls[0].complete && reading.prose.is_empty(), "{example} as {named}: {reading:?}");
            }
        }
    });
}
