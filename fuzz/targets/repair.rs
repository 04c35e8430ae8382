//! What is repaired is JSON, JSON is left as it is, and a repaired text needs no repair.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopwright_extract::repair_json;

#[path = "setup.rs"]
#[allow(dead_code)]
mod setup;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let repaired = repair_json(&text);
    assert!(setup::is_json(&repaired.json), "{text:?} became {:?}", repaired.json);
    if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
        assert_eq!(repaired.json.trim_ascii(), text.trim_ascii(), "it was JSON");
        assert!(repaired.repairs.is_empty());
    }
    let again = repair_json(&repaired.json);
    assert_eq!(again.json, repaired.json);
    assert!(again.repairs.is_empty(), "{text:?}: {:?}", again.repairs);
});
