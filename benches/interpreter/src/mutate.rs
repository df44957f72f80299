//! Changes of kernels that a test should notice.

use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Block, Module, Span, Statement};

use crate::walk::{At, function_mut, function_of, running, walk, walk_mut};
use crate::{logic, stores};

/// A change of one kernel. Numbers count in the order of functions and statements, of the functions that run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mutation {
    /// Leaves out the barrier of this number.
    RemoveBarrier(usize),
    /// Splits the atomic of this number into a load, an operation and a store, none of which is atomic; or makes an
    /// atomic store a plain store.
    WeakenAtomic(usize),
    /// Exchanges the two neighbouring stores of this number; their values are computed at the same places as before.
    SwapStores(usize),
    /// Changes a computation: the change of this number in [`Mutation::logic`].
    Logic(usize),
}

impl Mutation {
    /// Lists the barriers of a module.
    pub fn barriers(module: &Module) -> Vec<Self> {
        (0..count(module, is_barrier)).map(Self::RemoveBarrier).collect()
    }

    /// Lists the atomics of a module, and its atomic stores, but no atomic loads: they race as plain loads do.
    pub fn atomics(module: &Module) -> Vec<Self> {
        let info = validate(module).expect("a valid module");
        (0..atomics(module, &info).len()).map(Self::WeakenAtomic).collect()
    }

    /// Lists the neighbouring stores of a module.
    pub fn stores(module: &Module) -> Vec<Self> {
        (0..count_of_swaps(module)).map(Self::SwapStores).collect()
    }

    /// Lists the changes of the computations of a module: comparisons off by one, negated conditions, other operators,
    /// larger literals, exchanged arms of `select`, omitted stores and calls. Some changes make the module invalid.
    pub fn logic(module: &Module) -> Vec<Self> {
        let info = validate(module).expect("a valid module");
        (0..logic::changes(module, &info).len()).map(Self::Logic).collect()
    }

    /// Returns whether the change leaves the module valid.
    pub fn is_valid(&self, module: &Module) -> bool {
        let mut changed = module.clone();
        self.apply(&mut changed);
        validate(&changed).is_some()
    }

    /// Returns whether the two exchanged stores write to different places, and no computation between them reads the
    /// first: then their order cannot be observed.
    pub fn is_of_stores_apart(&self, module: &Module) -> bool {
        let Self::SwapStores(number) = self else { return false };
        let mut before = 0;
        for function in running(module) {
            let own = stores::swaps(function_of(module, function));
            if let Some(swap) = own.get(number - before) {
                return swap.is_apart;
            }
            before += own.len();
        }
        false
    }

    /// Returns the change, and the lines of the source around it.
    pub fn describe(&self, module: &Module, text: &str) -> String {
        let (what, span) = match *self {
            Self::RemoveBarrier(number) => ("barrier left out".to_owned(), span_of(module, number, is_barrier)),
            Self::WeakenAtomic(_) => ("no longer atomic".to_owned(), self.weakened(module).unwrap_or(Span::UNDEFINED)),
            Self::SwapStores(number) => {
                let spans = running(module).into_iter().flat_map(|at| stores::swaps(function_of(module, at)));
                ("stores swapped".to_owned(), spans.map(|swap| swap.span).nth(number).unwrap_or(Span::UNDEFINED))
            }
            Self::Logic(number) => {
                let info = validate(module).expect("a valid module");
                logic::changes(module, &info).swap_remove(number).describe()
            }
        };
        let start = span.to_range().map_or(0, |range| range.start).min(text.len());
        let line = text[..start].matches('\n').count();
        let lines: Vec<_> = text.lines().skip(line.saturating_sub(1)).take(3).map(str::trim_end).collect();
        format!("{what}:\n{}", lines.join("\n"))
    }

    /// Changes a module, except atomics: a non-atomic access to an atomic is not valid in a module.
    pub fn apply(&self, module: &mut Module) {
        match *self {
            Self::RemoveBarrier(number) => {
                let mut at = 0;
                for function in running(module) {
                    walk_mut(&mut function_mut(module, function).body, &mut |statement| {
                        if is_barrier(statement) {
                            if at == number {
                                *statement = Statement::Block(Block::new());
                            }
                            at += 1;
                        }
                    });
                }
            }
            Self::WeakenAtomic(_) => {}
            Self::SwapStores(number) => {
                let mut before = 0;
                for function in running(module) {
                    let function = function_mut(module, function);
                    let own = stores::swaps(function).len();
                    if (before..before + own).contains(&number) {
                        stores::swap(&mut function.body, number - before);
                    }
                    before += own;
                }
            }
            Self::Logic(number) => {
                let info = validate(module).expect("a valid module");
                logic::changes(module, &info).swap_remove(number).apply(module);
            }
        }
    }

    /// Returns the place of the atomic that is weakened.
    pub fn weakened(&self, module: &Module) -> Option<Span> {
        let Self::WeakenAtomic(number) = *self else { return None };
        let info = validate(module).expect("a valid module");
        atomics(module, &info).get(number).copied()
    }
}

pub fn validate(module: &Module) -> Option<ModuleInfo> {
    let capabilities = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
    Validator::new(ValidationFlags::all(), capabilities).validate(module).ok()
}

fn is_barrier(statement: &Statement) -> bool {
    matches!(statement, Statement::ControlBarrier(_))
}

fn count(module: &Module, is_meant: fn(&Statement) -> bool) -> usize {
    let mut count = 0;
    for function in running(module) {
        walk(&function_of(module, function).body, &mut |statement, _| count += usize::from(is_meant(statement)));
    }
    count
}

fn count_of_swaps(module: &Module) -> usize {
    running(module).into_iter().map(|function| stores::swaps(function_of(module, function)).len()).sum()
}

fn span_of(module: &Module, number: usize, is_meant: fn(&Statement) -> bool) -> Span {
    let mut spans = Vec::new();
    for function in running(module) {
        walk(&function_of(module, function).body, &mut |statement, span| {
            if is_meant(statement) {
                spans.push(span);
            }
        });
    }
    spans.get(number).copied().unwrap_or(Span::UNDEFINED)
}

/// Returns where the atomics are.
fn atomics(module: &Module, info: &ModuleInfo) -> Vec<Span> {
    let mut spans = Vec::new();
    for at in running(module) {
        let function = function_of(module, at);
        let info = match at {
            At::Function(handle) => &info[handle],
            At::Entry(index) => info.get_entry_point(index),
        };
        walk(&function.body, &mut |statement, span| match statement {
            Statement::Atomic { .. } => spans.push(span),
            Statement::Store { pointer, .. } => {
                if let naga::TypeInner::Pointer { base, .. } = *info[*pointer].ty.inner_with(&module.types)
                    && matches!(module.types[base].inner, naga::TypeInner::Atomic(_))
                {
                    spans.push(span);
                }
            }
            _ => {}
        });
    }
    spans
}
