//! The data of the fence: `fence.toml`, read once.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

/// All that the file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) places: BTreeMap<String, String>,
    pub(crate) files: Files,
    pub(crate) limits: Limits,
    pub(crate) signs: Signs,
    #[serde(rename = "tool")]
    pub(crate) tools: Vec<ToolGrant>,
}

/// What is hidden, and what every command may write.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Files {
    pub(crate) private: Vec<String>,
    pub(crate) devices: Vec<String>,
}

/// What a command with all its children may take; 0 leaves a limit as it is.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(crate) struct Limits {
    pub(crate) processes: u64,
    pub(crate) file_size: u64,
    pub(crate) open_files: u64,
    pub(crate) memory_blame: u16,
}

/// Texts in the output of a command by which a refusal is told.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signs {
    pub(crate) denied: Vec<String>,
    pub(crate) network: Vec<String>,
    pub(crate) network_before: Vec<String>,
    pub(crate) sockets: Vec<String>,
    pub(crate) signal: Vec<String>,
    pub(crate) privileges: Vec<String>,
}

/// What lines of known programs are granted.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolGrant {
    pub(crate) lines: Vec<String>,
    pub(crate) takes: Vec<String>,
    pub(crate) network: bool,
    pub(crate) sockets: bool,
    pub(crate) unfenced: bool,
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    pub(crate) caches: Vec<String>,
}

/// The table of the package.
pub(crate) fn table() -> &'static Table {
    // The file is ours, and a test reads it; without it a fence grants nothing beside the workspace.
    static TABLE: LazyLock<Table> = LazyLock::new(|| toml::from_str(include_str!("fence.toml")).unwrap_or_default());
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_the_package_is_read_whole() {
        let read: Table = toml::from_str(include_str!("fence.toml")).unwrap();
        assert!(read.tools.len() > 20 && read.files.private.len() > 50);
    }

    #[test]
    fn table_names_each_program_with_the_same_subcommand_once() {
        let mut seen = std::collections::BTreeSet::new();
        for tool in &table().tools {
            for line in &tool.lines {
                let (programs, subcommands) = line.split_once(' ').unwrap_or((line, ""));
                for program in programs.split('|') {
                    for subcommand in subcommands.split('|') {
                        assert!(seen.insert((program, subcommand)), "{program} {subcommand} stands there twice");
                    }
                }
            }
        }
    }

    #[test]
    fn table_paths_begin_as_its_head_says_and_know_their_variables() {
        let table = table();
        let tools = table.tools.iter().flat_map(|tool| tool.read.iter().chain(&tool.write).chain(&tool.caches));
        for path in tools.chain(&table.files.private).chain(table.places.values()) {
            let known = path.strip_prefix('$').is_none_or(|rest| {
                let name = rest.split('/').next().unwrap();
                table.places.contains_key(name) || matches!(name, "VIRTUAL_ENV" | "CONDA_PREFIX")
            });
            assert!(path.starts_with(['/', '~', '$', '@']) && known, "{path}");
        }
    }
}
