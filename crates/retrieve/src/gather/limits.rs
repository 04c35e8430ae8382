//! How much is read and how much is handed on.

use serde::{Deserialize, Serialize};

/// How much is read and how much is handed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatherLimits {
    /// At most this many messages of the conversation.
    pub thread_messages: usize,
    /// Whether the latest of the fitting messages are taken, not the best.
    pub thread_latest: bool,
    /// At most this many pieces of files.
    pub file_sources: usize,
    /// At most this many pieces of one file.
    pub per_file: usize,
    /// At most this many characters of one source.
    pub source_chars: usize,
    /// At most this many characters of all sources.
    pub total_chars: usize,
    /// Characters of a source shown in a list of sources.
    pub excerpt_chars: usize,
    /// At most this many files are read.
    pub max_files: usize,
    /// Larger files are left out.
    pub max_file_bytes: u64,
    /// Reading stops when this many bytes have been read.
    pub max_total_bytes: u64,
    /// Folders deeper than this are left out.
    pub max_depth: usize,
    /// Only files with these extensions, without the dot; empty is every text file.
    pub extensions: Vec<String>,
    /// At most this many pieces of what memory, functions and pages gave.
    pub other_sources: usize,
    /// Larger PDF files are left out; of what is read of one, its text counts.
    pub max_pdf_bytes: u64,
}

impl Default for GatherLimits {
    fn default() -> Self {
        Self {
            thread_messages: 5,
            thread_latest: false,
            file_sources: 5,
            per_file: 5,
            source_chars: 1_200,
            total_chars: 8_000,
            excerpt_chars: 100,
            max_files: 50,
            max_file_bytes: 100_000,
            max_total_bytes: 250_000,
            max_depth: 6,
            extensions: Vec::new(),
            other_sources: 5,
            max_pdf_bytes: 10_000_000,
        }
    }
}

impl GatherLimits {
    /// Limits for a whole repository or a large folder of documents.
    pub fn wide() -> Self {
        Self {
            file_sources: 12,
            per_file: 6,
            max_files: 2_000,
            max_file_bytes: 1_000_000,
            max_total_bytes: 64_000_000,
            max_depth: 16,
            ..Self::default()
        }
    }

    /// Small limits for small contexts: five messages, three files of 500 characters.
    pub fn seed() -> Self {
        Self {
            thread_messages: 5,
            thread_latest: true,
            file_sources: 3,
            per_file: 1,
            source_chars: 500,
            total_chars: 4_000,
            excerpt_chars: 100,
            max_files: 50,
            max_file_bytes: 100_000,
            max_total_bytes: 250_000,
            max_depth: 6,
            extensions: ["md", "txt", "yaml", "yml", "json"].map(str::to_owned).to_vec(),
            ..Self::default()
        }
    }
}
