//! Changes of kernels that a test should notice.

use naga::{Block, Module, Span, Statement};

/// A change of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Leaves out the barrier of this number, in the order of functions and statements.
    RemoveBarrier(usize),
}

impl Mutation {
    /// Returns how many barriers a module has.
    pub fn barriers(module: &Module) -> usize {
        let mut module = module.clone();
        let mut count = 0;
        each_barrier(&mut module, &mut |_, _| count += 1);
        count
    }

    /// Returns the lines of the source around the barrier of this number.
    pub fn around(module: &Module, number: usize, text: &str) -> String {
        let (mut module, mut at, mut lines) = (module.clone(), 0, String::new());
        each_barrier(&mut module, &mut |_, span| {
            if at == number {
                let start = span.to_range().map_or(0, |range| range.start);
                let line = text[..start].matches('\n').count();
                lines = text.lines().skip(line.saturating_sub(2)).take(4).collect::<Vec<_>>().join("\n");
            }
            at += 1;
        });
        lines
    }

    /// Changes a module.
    pub fn apply(&self, module: &mut Module) {
        let Self::RemoveBarrier(number) = self;
        let mut at = 0;
        each_barrier(module, &mut |statement, _| {
            if at == *number {
                *statement = Statement::Block(Block::new());
            }
            at += 1;
        });
    }
}

fn each_barrier(module: &mut Module, each: &mut impl FnMut(&mut Statement, Span)) {
    for (_, function) in module.functions.iter_mut() {
        walk(&mut function.body, each);
    }
    for entry in &mut module.entry_points {
        walk(&mut entry.function.body, each);
    }
}

fn walk(block: &mut Block, each: &mut impl FnMut(&mut Statement, Span)) {
    for (statement, span) in block.span_iter_mut() {
        let span = span.map_or(Span::UNDEFINED, |span| *span);
        match statement {
            Statement::ControlBarrier(_) => each(statement, span),
            Statement::Block(block) => walk(block, each),
            Statement::If { accept, reject, .. } => {
                walk(accept, each);
                walk(reject, each);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| walk(&mut case.body, each)),
            Statement::Loop { body, continuing, .. } => {
                walk(body, each);
                walk(continuing, each);
            }
            _ => {}
        }
    }
}
