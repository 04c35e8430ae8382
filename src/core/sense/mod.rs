//! Whether a loop is going anywhere: from hashes of what it did and words of what it said, never from a model.

pub mod breakpoint;
pub mod continuation;
pub mod momentum;
pub mod speech;
pub mod stuck;

mod about;
pub mod drift;
pub mod intent;
pub mod next_step;
mod reading;
pub mod signals;
