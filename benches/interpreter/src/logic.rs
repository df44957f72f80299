//! Changes of the computations of a kernel.

use naga::valid::ModuleInfo;
use naga::{
    BinaryOperator, Expression, Function, Handle, Literal, MathFunction, Module, Span, Statement, UnaryOperator,
};

use crate::walk::{At, function_mut, function_of, running, walk, walk_mut};

/// A change in a function.
#[derive(Clone, Debug)]
pub struct Change {
    at: At,
    place: Place,
    what: String,
    span: Span,
}

#[derive(Clone, Debug)]
enum Place {
    /// The expression becomes another one.
    Expression(Handle<Expression>, Expression),
    /// The arms of this `if` are exchanged.
    Arms(usize),
    /// This statement is left out.
    Statement(usize),
}

/// Lists the changes of a module, in the order of functions; of each, first of expressions and then of statements. Some
/// of them may leave the module invalid.
pub fn changes(module: &Module, info: &ModuleInfo) -> Vec<Change> {
    let mut changes = Vec::new();
    for at in running(module) {
        let function = function_of(module, at);
        let info = match at {
            At::Function(handle) => &info[handle],
            At::Entry(index) => info.get_entry_point(index),
        };
        let is_start = |handle| function.local_variables.iter().any(|(_, local)| local.init == Some(handle));
        for (handle, expression) in function.expressions.iter() {
            if info[handle].ref_count == 0 && !is_start(handle) {
                continue;
            }
            if let Some((what, with)) = other(expression) {
                let span = function.expressions.get_span(handle);
                changes.push(Change { at, place: Place::Expression(handle, with), what, span });
            }
        }
        changes.extend(of_statements(at, function));
    }
    changes
}

fn of_statements(at: At, function: &Function) -> Vec<Change> {
    let (mut changes, mut number, mut loop_end) = (Vec::new(), 0, 0);
    walk(&function.body, &mut |statement, span| {
        if let Statement::Loop { body, continuing, .. } = statement {
            let mut count = 0;
            [body, continuing].into_iter().for_each(|block| walk(block, &mut |_, _| count += 1));
            loop_end = loop_end.max(number + 1 + count);
        }
        let change = match statement {
            Statement::If { .. } => Some((Place::Arms(number), "condition negated")),
            Statement::Store { pointer, value } if number >= loop_end && keeps_false(function, *pointer, *value) => {
                None
            }
            Statement::Store { .. } => Some((Place::Statement(number), "store left out")),
            Statement::Call { result: None, .. } => Some((Place::Statement(number), "call left out")),
            _ => None,
        };
        changes.extend(change.map(|(place, what)| Change { at, place, what: what.to_owned(), span }));
        number += 1;
    });
    changes
}

/// Returns whether a store writes `false` to naga's variable for the result of a short circuit, which is initially
/// false: outside of loops, the store can be omitted.
fn keeps_false(function: &Function, pointer: Handle<Expression>, value: Handle<Expression>) -> bool {
    let Expression::LocalVariable(local) = function.expressions[pointer] else { return false };
    let local = &function.local_variables[local];
    let is_false = matches!(function.expressions[value], Expression::Literal(Literal::Bool(false)));
    is_false && local.name.is_none() && local.init.is_none()
}

/// Returns the changed expression, and the name of the change.
fn other(expression: &Expression) -> Option<(String, Expression)> {
    use BinaryOperator as B;
    let result = match *expression {
        Expression::Binary { op, left, right } => {
            let (was, is, with) = match op {
                B::Less => ("<", "<=", B::LessEqual),
                B::LessEqual => ("<=", "<", B::Less),
                B::Greater => (">", ">=", B::GreaterEqual),
                B::GreaterEqual => (">=", ">", B::Greater),
                B::Equal => ("==", "!=", B::NotEqual),
                B::NotEqual => ("!=", "==", B::Equal),
                B::Add => ("+", "-", B::Subtract),
                B::Subtract => ("-", "+", B::Add),
                B::ShiftLeft => ("<<", ">>", B::ShiftRight),
                B::ShiftRight => (">>", "<<", B::ShiftLeft),
                B::And => ("&", "|", B::InclusiveOr),
                B::InclusiveOr => ("|", "&", B::And),
                B::LogicalAnd => ("&&", "||", B::LogicalOr),
                B::LogicalOr => ("||", "&&", B::LogicalAnd),
                B::Divide => ("/", "%", B::Modulo),
                B::Modulo => ("%", "/", B::Divide),
                B::Multiply | B::ExclusiveOr => return None,
            };
            (format!("{was} becomes {is}"), Expression::Binary { op: with, left, right })
        }
        Expression::Math { fun, arg, arg1, arg2, arg3 } => {
            let (was, is, fun) = match fun {
                MathFunction::Min => ("min", "max", MathFunction::Max),
                MathFunction::Max => ("max", "min", MathFunction::Min),
                _ => return None,
            };
            (format!("{was} becomes {is}"), Expression::Math { fun, arg, arg1, arg2, arg3 })
        }
        Expression::Select { condition, accept, reject } => {
            let with = Expression::Select { condition, accept: reject, reject: accept };
            ("arms of select exchanged".to_owned(), with)
        }
        Expression::Unary { op: op @ (UnaryOperator::LogicalNot | UnaryOperator::BitwiseNot), expr } => {
            let sign = if op == UnaryOperator::LogicalNot { "!" } else { "~" };
            // An expression that only repeats its operand: `x & x` is `x`.
            (format!("{sign} left out"), Expression::Binary { op: B::And, left: expr, right: expr })
        }
        Expression::Literal(Literal::U32(n)) => {
            (format!("{n} becomes {}", n.wrapping_add(1)), Expression::Literal(Literal::U32(n.wrapping_add(1))))
        }
        Expression::Literal(Literal::I32(n)) => {
            (format!("{n} becomes {}", n.wrapping_add(1)), Expression::Literal(Literal::I32(n.wrapping_add(1))))
        }
        _ => return None,
    };
    Some(result)
}

impl Change {
    /// Changes the module for which the change was listed.
    pub fn apply(self, module: &mut Module) {
        let function = function_mut(module, self.at);
        match self.place {
            Place::Expression(handle, with) => *function.expressions.get_mut(handle) = with,
            Place::Arms(number) => at(function, number, |statement| {
                if let Statement::If { accept, reject, .. } = statement {
                    std::mem::swap(accept, reject);
                }
            }),
            Place::Statement(number) => {
                at(function, number, |statement| *statement = Statement::Block(naga::Block::new()))
            }
        }
    }

    /// Returns the change and its place.
    pub fn describe(self) -> (String, Span) {
        (self.what, self.span)
    }
}

fn at(function: &mut Function, number: usize, change: impl Fn(&mut Statement)) {
    let mut next = 0;
    walk_mut(&mut function.body, &mut |statement| {
        if next == number {
            change(statement);
        }
        next += 1;
    });
}
