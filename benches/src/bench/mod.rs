//! Engines side by side: scenes × sizes × engines, interleaved, every answer compared, and the results as JSON, CSV,
//! charts and one page.
//!
//! [`Plan::measure`](plan::Plan::measure) gives [`Results`](results::Results). A `lane` is one engine on its way
//! through one scene; `predict` says what would take too long and is not run; `difference` says how two answers differ;
//! [`compare`](mod@compare) says what became slower since earlier results. [`usscd`], [`worlds`] and
//! [`queries`] are measured in their own ways.

pub mod charts;
pub mod compare;
mod difference;
pub mod html;
mod lane;
pub mod machine;
pub mod plan;
mod plot;
mod predict;
pub mod queries;
mod recorded;
pub mod results;
pub mod scene;
pub mod steps;
pub mod stop;
pub mod table;
pub mod usscd;
pub mod worlds;
