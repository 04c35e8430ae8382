//! No text is too strange for the reader of PowerShell.

use proptest::prelude::*;

use super::calls;

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in r"[ -~é\n]{0,80}",
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "Get-Item", "$x", "(", ")", "{", "}", "[", "]", ".Name", "::Read(", "'", "\"", "`", "@'\n", "\n'@", "2>", "&1", "&",
                "|", ";", "$(", "é", "<#", "#>", "-eq", "1", "=", "foreach", "%", ",", "@{",
            ]),
            0..40,
        ),
    ) {
        let joined = parts.concat();
        let spaced = parts.join(" ");
        for text in [&text, &joined, &spaced] {
            calls(text, None);
            calls(&format!("$PSVersionTable {text}"), None);
        }
    }
}
