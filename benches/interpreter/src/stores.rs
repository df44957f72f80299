//! Neighbouring stores: stores of one block with only computations between them.

use naga::{Block, Expression, Function, Handle, Span, Statement};

/// Two neighbouring stores.
pub struct Swap {
    /// The place of the first.
    pub span: Span,
    /// True if they write to different places, and nothing between them reads the first.
    pub is_apart: bool,
}

/// The known part of the target of a pointer: a variable or an argument of a function, and the members and elements in
/// it (none for a computed index).
type Place = (Option<Handle<Expression>>, Vec<Option<u32>>);

/// Lists the neighbouring stores of a function, block by block.
pub fn swaps(function: &Function) -> Vec<Swap> {
    let mut swaps = Vec::new();
    each_block(&function.body, &mut |block| {
        swaps.extend(pairs(block).into_iter().map(|(first, second)| {
            let (Statement::Store { pointer: one, .. }, Statement::Store { pointer: other, .. }) =
                (&block[first], &block[second])
            else {
                unreachable!("pairs are of stores")
            };
            let span = block.span_iter().nth(first).map_or(Span::UNDEFINED, |(_, span)| *span);
            let own = place_of(function, *one);
            let reads_it = block[first..second].iter().any(|statement| {
                let Statement::Emit(range) = statement else { return false };
                range.clone().any(|handle| match function.expressions[handle] {
                    Expression::Load { pointer } => !are_apart(function, &own, &place_of(function, pointer)),
                    _ => false,
                })
            });
            Swap { span, is_apart: !reads_it && are_apart(function, &own, &place_of(function, *other)) }
        }));
    });
    swaps
}

/// Exchanges two neighbouring stores.
pub fn swap(body: &mut Block, number: usize) {
    let mut before = 0;
    each_block_mut(body, &mut |block| {
        let own = pairs(block);
        if let Some(&(first, second)) = number.checked_sub(before).and_then(|number| own.get(number)) {
            // The values of the second store are computed before it, so the first store moves behind it.
            let mut spans: Vec<_> = block.span_iter().map(|(_, span)| *span).collect();
            let mut statements: Vec<_> = block.iter().cloned().collect();
            let (statement, span) = (statements.remove(first), spans.remove(first));
            statements.insert(second, statement);
            spans.insert(second, span);
            let mut changed = Block::with_capacity(statements.len());
            statements.into_iter().zip(spans).for_each(|(statement, span)| changed.push(statement, span));
            *block = changed;
        }
        before += own.len();
    });
}

fn pairs(block: &Block) -> Vec<(usize, usize)> {
    let (mut pairs, mut last) = (Vec::new(), None);
    for (index, statement) in block.iter().enumerate() {
        match statement {
            Statement::Store { .. } => {
                pairs.extend(last.map(|last| (last, index)));
                last = Some(index);
            }
            Statement::Emit(_) => {}
            _ => last = None,
        }
    }
    pairs
}

fn place_of(function: &Function, pointer: Handle<Expression>) -> Place {
    match function.expressions[pointer] {
        Expression::AccessIndex { base, index } => {
            let (root, mut path) = place_of(function, base);
            path.push(Some(index));
            (root, path)
        }
        Expression::Access { base, .. } => {
            let (root, mut path) = place_of(function, base);
            path.push(None);
            (root, path)
        }
        Expression::GlobalVariable(_) | Expression::LocalVariable(_) | Expression::FunctionArgument(_) => {
            (Some(pointer), Vec::new())
        }
        _ => (None, Vec::new()),
    }
}

fn are_apart(function: &Function, (one, one_path): &Place, (other, other_path): &Place) -> bool {
    let (Some(one), Some(other)) = (*one, *other) else { return false };
    let is_same = match (&function.expressions[one], &function.expressions[other]) {
        (Expression::GlobalVariable(one), Expression::GlobalVariable(other)) => one == other,
        (Expression::LocalVariable(one), Expression::LocalVariable(other)) => one == other,
        (Expression::FunctionArgument(one), Expression::FunctionArgument(other)) if one == other => true,
        // An argument that is a pointer may point anywhere.
        (Expression::FunctionArgument(_), _) | (_, Expression::FunctionArgument(_)) => return false,
        _ => false,
    };
    let mut steps = one_path.iter().zip(other_path).take_while(|(one, other)| one.is_some() && other.is_some());
    !is_same || steps.any(|(one, other)| one != other)
}

fn each_block(block: &Block, each: &mut impl FnMut(&Block)) {
    each(block);
    for statement in block.iter() {
        match statement {
            Statement::Block(block) => each_block(block, each),
            Statement::If { accept, reject, .. } => {
                each_block(accept, each);
                each_block(reject, each);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| each_block(&case.body, each)),
            Statement::Loop { body, continuing, .. } => {
                each_block(body, each);
                each_block(continuing, each);
            }
            _ => {}
        }
    }
}

fn each_block_mut(block: &mut Block, each: &mut impl FnMut(&mut Block)) {
    each(block);
    for statement in block.iter_mut() {
        match statement {
            Statement::Block(block) => each_block_mut(block, each),
            Statement::If { accept, reject, .. } => {
                each_block_mut(accept, each);
                each_block_mut(reject, each);
            }
            Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| each_block_mut(&mut case.body, each)),
            Statement::Loop { body, continuing, .. } => {
                each_block_mut(body, each);
                each_block_mut(continuing, each);
            }
            _ => {}
        }
    }
}
