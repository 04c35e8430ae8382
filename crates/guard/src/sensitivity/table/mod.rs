//! All detectors, by what issues the secret. The first of two that find the same names the hit.

mod calls;
mod cloud;
mod code;
mod generic;
mod model;
mod money;
mod talk;
mod watch;
mod work;

use super::detector::Detector;

/// The tables, the most telling first.
pub(super) const TABLES: &[&[Detector]] = &[
    model::TABLE,
    code::TABLE,
    cloud::TABLE,
    money::TABLE,
    talk::TABLE,
    watch::TABLE,
    work::TABLE,
    calls::TABLE,
    generic::TABLE,
];
