//! The functions of a module that run, and their statements.

use naga::{Block, Function, Handle, Module, Span, Statement};

/// The place of a function.
#[derive(Clone, Copy, Debug)]
pub enum At {
    Function(Handle<Function>),
    Entry(usize),
}

pub fn function_of(module: &Module, at: At) -> &Function {
    match at {
        At::Function(handle) => &module.functions[handle],
        At::Entry(index) => &module.entry_points[index].function,
    }
}

pub fn function_mut(module: &mut Module, at: At) -> &mut Function {
    match at {
        At::Function(handle) => module.functions.get_mut(handle),
        At::Entry(index) => &mut module.entry_points[index].function,
    }
}

/// Lists the functions that an entry point calls, and the entry points.
pub fn running(module: &Module) -> Vec<At> {
    let mut is_called = vec![false; module.functions.len()];
    let mut open: Vec<&Function> = module.entry_points.iter().map(|entry| &entry.function).collect();
    while let Some(function) = open.pop() {
        walk(&function.body, &mut |statement, _| {
            if let Statement::Call { function, .. } = statement
                && !std::mem::replace(&mut is_called[function.index()], true)
            {
                open.push(&module.functions[*function]);
            }
        });
    }
    let called = module.functions.iter().filter(|(handle, _)| is_called[handle.index()]);
    called.map(|(handle, _)| At::Function(handle)).chain((0..module.entry_points.len()).map(At::Entry)).collect()
}

/// Visits all statements of a block, and of the blocks in it.
pub fn walk<'a>(block: &'a Block, each: &mut impl FnMut(&'a Statement, Span)) {
    for (statement, span) in block.span_iter() {
        each(statement, *span);
        match statement {
            Statement::Block(block) => walk(block, each),
            Statement::If { accept, reject, .. } => {
                walk(accept, each);
                walk(reject, each);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| walk(&case.body, each)),
            Statement::Loop { body, continuing, .. } => {
                walk(body, each);
                walk(continuing, each);
            }
            _ => {}
        }
    }
}

/// Visits all statements of a block in the same order. The replacement of a statement is visited in its place.
pub fn walk_mut(block: &mut Block, each: &mut impl FnMut(&mut Statement)) {
    for statement in block.iter_mut() {
        each(statement);
        match statement {
            Statement::Block(block) => walk_mut(block, each),
            Statement::If { accept, reject, .. } => {
                walk_mut(accept, each);
                walk_mut(reject, each);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| walk_mut(&mut case.body, each)),
            Statement::Loop { body, continuing, .. } => {
                walk_mut(body, each);
                walk_mut(continuing, each);
            }
            _ => {}
        }
    }
}
