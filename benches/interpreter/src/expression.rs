//! Expressions of naga as operations.

use std::rc::Rc;

use naga::{
    BinaryOperator, Expression, Handle, MathFunction, RelationalFunction, ScalarKind, SubgroupOperation, TypeInner,
    UnaryOperator,
};

use crate::compiler::{Compiler, Scope, Value, kind_of};
use crate::program::*;
use crate::types::{column_stride, inner, length, offsets};

/// Compiles an expression that is emitted here, and returns its value.
#[expect(clippy::too_many_lines, reason = "an arm for each expression")]
pub fn compile<'a>(
    compiler: &mut Compiler<'a>,
    scope: &mut Scope<'a>,
    handle: Handle<Expression>,
    operations: &mut Vec<Operation>,
) -> Value {
    let expression = &scope.function.expressions[handle];
    let span = scope.function.expressions.get_span(handle);
    let words: Vec<Register> = match *expression {
        Expression::Compose { ref components, .. } => {
            components.iter().flat_map(|component| compiler.words(scope, *component).to_vec()).collect()
        }
        Expression::Splat { size, value } => vec![compiler.word(scope, value); size as usize],
        Expression::Swizzle { size, vector, pattern } => {
            let vector = compiler.words(scope, vector);
            pattern[..size as usize].iter().map(|component| vector[*component as usize]).collect()
        }
        Expression::Access { base, index } => {
            let index = compiler.word(scope, index);
            return access(compiler, scope, base, Index::Register(index), operations);
        }
        Expression::AccessIndex { base, index } => {
            return access(compiler, scope, base, Index::Constant(index), operations);
        }
        Expression::Load { pointer } => {
            let (from, offsets, is_atomic) = compiler.place(scope, pointer);
            let to: Vec<_> = offsets.iter().map(|_| compiler.register()).collect();
            let site = match from.root {
                Root::Local(..) => usize::MAX,
                root => compiler.site(format!("load of {}", compiler.name_of(root)), span),
            };
            operations.push(Operation::Load { to: to.clone(), from, offsets, site, is_atomic });
            to
        }
        Expression::ArrayLength(pointer) => {
            let TypeInner::Pointer { base, .. } = *inner(compiler.module, &scope.info[pointer].ty) else {
                panic!("no pointer")
            };
            let TypeInner::Array { stride, .. } = compiler.module.types[base].inner else { panic!("no array") };
            let Value::Pointer(Pointer { root: Root::Global(global), offset, .. }) = compiler.value(scope, pointer)
            else {
                panic!("no buffer")
            };
            let to = compiler.register();
            operations.push(Operation::Length { to, global, offset, stride });
            vec![to]
        }
        Expression::Unary { op, expr } => {
            let one = match (op, kind_of(compiler, scope, expr)) {
                (UnaryOperator::Negate, ScalarKind::Float) => One::NegateF,
                (UnaryOperator::Negate, _) => One::NegateI,
                (UnaryOperator::LogicalNot, _) => One::Not,
                (UnaryOperator::BitwiseNot, _) => One::Complement,
            };
            each(compiler, scope, [expr], operations, |to, [a]| Operation::One(one, to, a))
        }
        Expression::Binary { op, left, right } => {
            for side in [left, right] {
                let is_matrix = matches!(inner(compiler.module, &scope.info[side].ty), TypeInner::Matrix { .. });
                assert!(!is_matrix, "no kernel multiplies matrices");
            }
            let (two, is_swapped, is_negated) = binary(op, kind_of(compiler, scope, left));
            let sides = if is_swapped { [right, left] } else { [left, right] };
            let words = each(compiler, scope, sides, operations, |to, [a, b]| Operation::Two(two, to, a, b));
            if !is_negated {
                return Value::Words(Rc::from(words));
            }
            let negated = words.iter().map(|&word| {
                let to = compiler.register();
                operations.push(Operation::One(One::Not, to, word));
                to
            });
            negated.collect()
        }
        Expression::Select { condition, accept, reject } => {
            each(compiler, scope, [condition, accept, reject], operations, |to, [c, a, r]| {
                Operation::Three(Three::Select, to, c, a, r)
            })
        }
        Expression::Relational { fun, argument } => {
            let two = match fun {
                RelationalFunction::All => Two::And,
                RelationalFunction::Any => Two::Or,
                other => panic!("{other:?}"),
            };
            let argument = compiler.words(scope, argument);
            vec![fold(compiler, &argument, two, operations)]
        }
        Expression::As { expr, kind, convert } => {
            let from = kind_of(compiler, scope, expr);
            let one = match (from, kind) {
                _ if convert.is_none() => One::Copy,
                (ScalarKind::Float, ScalarKind::Uint) => One::FromFToU,
                (ScalarKind::Float, ScalarKind::Sint) => One::FromFToI,
                (ScalarKind::Float, ScalarKind::Bool) => One::FToBool,
                (ScalarKind::Uint | ScalarKind::Bool, ScalarKind::Float) => One::FromUToF,
                (ScalarKind::Sint, ScalarKind::Float) => One::FromIToF,
                (_, ScalarKind::Bool) => One::ToBool,
                _ => One::Copy,
            };
            if one == One::Copy {
                return compiler.value(scope, expr);
            }
            each(compiler, scope, [expr], operations, |to, [a]| Operation::One(one, to, a))
        }
        Expression::Math { fun, arg, arg1, arg2, .. } => math(compiler, scope, (fun, arg, arg1, arg2), operations),
        ref other => panic!("no kernel has {other:?}"),
    };
    Value::Words(Rc::from(words))
}

/// Compiles a function for each component of its arguments; those of one word are taken for every component.
fn each<'a, const N: usize>(
    compiler: &mut Compiler<'a>,
    scope: &mut Scope<'a>,
    arguments: [Handle<Expression>; N],
    operations: &mut Vec<Operation>,
    operation: impl Fn(Register, [Register; N]) -> Operation,
) -> Vec<Register> {
    let arguments = arguments.map(|argument| compiler.words(scope, argument));
    let count = arguments.iter().map(|words| words.len()).max().unwrap_or(0);
    (0..count)
        .map(|k| {
            let to = compiler.register();
            let of = |words: &Rc<[Register]>| if words.len() == 1 { words[0] } else { words[k] };
            operations.push(operation(to, std::array::from_fn(|i| of(&arguments[i]))));
            to
        })
        .collect()
}

/// Combines all words by a function.
fn fold(compiler: &mut Compiler<'_>, words: &[Register], two: Two, operations: &mut Vec<Operation>) -> Register {
    let mut all = words[0];
    for &word in &words[1..] {
        let to = compiler.register();
        operations.push(Operation::Two(two, to, all, word));
        all = to;
    }
    all
}

enum Index {
    Constant(u32),
    Register(Register),
}

/// Compiles the access to a part of a value, or of the target of a pointer.
#[expect(clippy::too_many_lines, reason = "an arm for each type")]
fn access<'a>(
    compiler: &mut Compiler<'a>,
    scope: &mut Scope<'a>,
    base: Handle<Expression>,
    index: Index,
    operations: &mut Vec<Operation>,
) -> Value {
    let module = compiler.module;
    match compiler.value(scope, base) {
        Value::Words(all) => {
            let count_of = |inner: &TypeInner| offsets(module, inner).len();
            let (before, count) = match (inner(module, &scope.info[base].ty), &index) {
                (TypeInner::Struct { members, .. }, Index::Constant(at)) => {
                    let counts: Vec<_> = members.iter().map(|member| compiler.count(member.ty) as usize).collect();
                    (counts[..*at as usize].iter().sum(), counts[*at as usize])
                }
                (inner, index) => {
                    let count = match *inner {
                        TypeInner::Vector { .. } => 1,
                        TypeInner::Matrix { rows, .. } => rows as usize,
                        TypeInner::Array { base, .. } => count_of(&module.types[base].inner),
                        ref other => panic!("no parts of {other:?}"),
                    };
                    (if let Index::Constant(at) = index { *at as usize * count } else { 0 }, count)
                }
            };
            match index {
                Index::Constant(_) => Value::Words(Rc::from(&all[before..before + count])),
                Index::Register(index) => {
                    let picked = (0..count).map(|k| {
                        let to = compiler.register();
                        let from = all.iter().skip(k).step_by(count).copied().collect();
                        operations.push(Operation::Pick { to, from, index });
                        to
                    });
                    Value::Words(picked.collect())
                }
            }
        }
        Value::Pointer(pointer) => {
            let is_local = matches!(pointer.root, Root::Local(..));
            // In components of a local variable, in bytes elsewhere.
            let (stride, length) = match *inner(module, &scope.info[base].ty) {
                TypeInner::ValuePointer { size, .. } => (if is_local { 1 } else { 4 }, size.map(|size| size as u32)),
                TypeInner::Pointer { base, .. } => match module.types[base].inner {
                    TypeInner::Vector { size, .. } => (if is_local { 1 } else { 4 }, Some(size as u32)),
                    TypeInner::Matrix { columns, rows, .. } => {
                        (if is_local { rows as u32 } else { column_stride(rows) }, Some(columns as u32))
                    }
                    TypeInner::Array { base, size, stride } => {
                        (if is_local { compiler.count(base) } else { stride }, length(size))
                    }
                    TypeInner::Struct { ref members, .. } => {
                        let Index::Constant(at) = index else { panic!("members have no computed index") };
                        let before: u32 = members[..at as usize].iter().map(|member| compiler.count(member.ty)).sum();
                        let offset = if is_local { before } else { members[at as usize].offset };
                        return Value::Pointer(Pointer { offset: pointer.offset + offset, ..pointer });
                    }
                    ref other => panic!("no parts of {other:?}"),
                },
                ref other => panic!("{other:?} is no pointer"),
            };
            Value::Pointer(match index {
                Index::Constant(at) => Pointer { offset: pointer.offset + at * stride, ..pointer },
                Index::Register(index) => {
                    let to = compiler.register();
                    operations.push(Operation::Step { to, base: pointer.index, index, stride, length });
                    Pointer { index: Some(to), ..pointer }
                }
            })
        }
    }
}

/// Returns the item for numbers of this kind.
fn choose<T>(kind: ScalarKind, float: T, unsigned: T, signed: T) -> T {
    match kind {
        ScalarKind::Float => float,
        ScalarKind::Sint => signed,
        _ => unsigned,
    }
}

/// Returns the function of an operator, whether its sides are swapped, and whether its result is negated.
fn binary(op: BinaryOperator, kind: ScalarKind) -> (Two, bool, bool) {
    use BinaryOperator as B;
    let by_kind = |float, unsigned, signed| choose(kind, float, unsigned, signed);
    let less = by_kind(Two::LessF, Two::LessU, Two::LessI);
    let less_equal = by_kind(Two::LessEqualF, Two::LessEqualU, Two::LessEqualI);
    let equal = by_kind(Two::EqualF, Two::Equal, Two::Equal);
    match op {
        B::Add => (by_kind(Two::AddF, Two::AddI, Two::AddI), false, false),
        B::Subtract => (by_kind(Two::SubF, Two::SubI, Two::SubI), false, false),
        B::Multiply => (by_kind(Two::MulF, Two::MulI, Two::MulI), false, false),
        B::Divide => (by_kind(Two::DivF, Two::DivU, Two::DivI), false, false),
        B::Modulo => (by_kind(Two::RemF, Two::RemU, Two::RemI), false, false),
        B::Equal => (equal, false, false),
        B::NotEqual => (equal, false, true),
        B::Less => (less, false, false),
        B::LessEqual => (less_equal, false, false),
        B::Greater => (less, true, false),
        B::GreaterEqual => (less_equal, true, false),
        B::And | B::LogicalAnd => (Two::And, false, false),
        B::InclusiveOr | B::LogicalOr => (Two::Or, false, false),
        B::ExclusiveOr => (Two::Xor, false, false),
        B::ShiftLeft => (Two::ShiftLeft, false, false),
        B::ShiftRight => (by_kind(Two::ShiftRightU, Two::ShiftRightU, Two::ShiftRightI), false, false),
    }
}

/// Returns the function that combines the values of a subgroup, and the value that changes nothing.
pub fn collective(op: SubgroupOperation, kind: ScalarKind) -> (Two, u32) {
    let is_float = kind == ScalarKind::Float;
    match (op, kind) {
        (SubgroupOperation::All | SubgroupOperation::And, _) => (Two::And, u32::MAX),
        (SubgroupOperation::Any | SubgroupOperation::Or, _) => (Two::Or, 0),
        (SubgroupOperation::Xor, _) => (Two::Xor, 0),
        (SubgroupOperation::Add, _) => (if is_float { Two::AddF } else { Two::AddI }, 0),
        (SubgroupOperation::Mul, _) => {
            (if is_float { Two::MulF } else { Two::MulI }, if is_float { 1.0f32.to_bits() } else { 1 })
        }
        (SubgroupOperation::Min, ScalarKind::Float) => (Two::MinF, f32::INFINITY.to_bits()),
        (SubgroupOperation::Min, ScalarKind::Sint) => (Two::MinI, i32::MAX as u32),
        (SubgroupOperation::Min, _) => (Two::MinU, u32::MAX),
        (SubgroupOperation::Max, ScalarKind::Float) => (Two::MaxF, f32::NEG_INFINITY.to_bits()),
        (SubgroupOperation::Max, ScalarKind::Sint) => (Two::MaxI, i32::MIN as u32),
        (SubgroupOperation::Max, _) => (Two::MaxU, 0),
    }
}

type Call = (MathFunction, Handle<Expression>, Option<Handle<Expression>>, Option<Handle<Expression>>);

/// Compiles a function of WGSL's library.
#[expect(clippy::too_many_lines, reason = "an arm for each function")]
fn math<'a>(
    compiler: &mut Compiler<'a>,
    scope: &mut Scope<'a>,
    (function, a, b, c): Call,
    operations: &mut Vec<Operation>,
) -> Vec<Register> {
    use MathFunction as M;
    let kind = kind_of(compiler, scope, a);
    let by_kind = |float, unsigned, signed| choose(kind, float, unsigned, signed);
    let min = choose(kind, Two::MinF, Two::MinU, Two::MinI);
    let max = choose(kind, Two::MaxF, Two::MaxU, Two::MaxI);
    let of_one = match function {
        M::Abs => Some(by_kind(One::AbsF, One::Copy, One::AbsI)),
        M::Ceil => Some(One::Ceil),
        M::Floor => Some(One::Floor),
        M::Round => Some(One::Round),
        M::Trunc => Some(One::Trunc),
        M::Fract => Some(One::Fract),
        M::Sqrt => Some(One::Sqrt),
        M::InverseSqrt => Some(One::InverseSqrt),
        M::Exp => Some(One::Exp),
        M::Exp2 => Some(One::Exp2),
        M::Log => Some(One::Log),
        M::Log2 => Some(One::Log2),
        M::Sin => Some(One::Sin),
        M::Cos => Some(One::Cos),
        M::Sign => Some(by_kind(One::SignF, One::SignI, One::SignI)),
        M::CountTrailingZeros => Some(One::TrailingZeros),
        M::CountLeadingZeros => Some(One::LeadingZeros),
        M::CountOneBits => Some(One::Ones),
        M::ReverseBits => Some(One::Reverse),
        M::FirstTrailingBit => Some(One::LowestBit),
        M::FirstLeadingBit => Some(by_kind(One::HighestBitU, One::HighestBitU, One::HighestBitI)),
        _ => None,
    };
    if let Some(one) = of_one {
        return each(compiler, scope, [a], operations, |to, [a]| Operation::One(one, to, a));
    }
    let second = |what: Option<Handle<Expression>>| what.expect("a second argument");
    match function {
        M::Min => each(compiler, scope, [a, second(b)], operations, |to, [a, b]| Operation::Two(min, to, a, b)),
        M::Max => each(compiler, scope, [a, second(b)], operations, |to, [a, b]| Operation::Two(max, to, a, b)),
        M::Pow => each(compiler, scope, [a, second(b)], operations, |to, [a, b]| Operation::Two(Two::Pow, to, a, b)),
        M::Clamp => {
            let above = each(compiler, scope, [a, second(b)], operations, |to, [a, b]| Operation::Two(max, to, a, b));
            let highest = compiler.words(scope, second(c));
            let within = |(k, above): (usize, &Register)| {
                let to = compiler.register();
                operations.push(Operation::Two(min, to, *above, highest[k.min(highest.len() - 1)]));
                to
            };
            above.iter().enumerate().map(within).collect()
        }
        M::Fma => each(compiler, scope, [a, second(b), second(c)], operations, |to, [a, b, c]| {
            Operation::Three(Three::Fma, to, a, b, c)
        }),
        M::ExtractBits => {
            let three = if kind == ScalarKind::Sint { Three::ExtractI } else { Three::ExtractU };
            each(compiler, scope, [a, second(b), second(c)], operations, |to, [a, b, c]| {
                Operation::Three(three, to, a, b, c)
            })
        }
        M::Dot => {
            let integers = (Two::MulI, Two::AddI);
            let (multiply, add) = choose(kind, (Two::MulF, Two::AddF), integers, integers);
            let products =
                each(compiler, scope, [a, second(b)], operations, |to, [a, b]| Operation::Two(multiply, to, a, b));
            vec![fold(compiler, &products, add, operations)]
        }
        M::Length | M::Normalize => {
            let words = compiler.words(scope, a);
            let products = each(compiler, scope, [a, a], operations, |to, [a, b]| Operation::Two(Two::MulF, to, a, b));
            let (square, length) = (fold(compiler, &products, Two::AddF, operations), compiler.register());
            operations.push(Operation::One(One::Sqrt, length, square));
            if function == M::Length {
                return vec![length];
            }
            let divided = words.iter().map(|&word| {
                let to = compiler.register();
                operations.push(Operation::Two(Two::DivF, to, word, length));
                to
            });
            divided.collect()
        }
        M::Cross => {
            let (a, b) = (compiler.words(scope, a), compiler.words(scope, second(b)));
            (0..3)
                .map(|k| {
                    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                    let [left, right, to] = [compiler.register(), compiler.register(), compiler.register()];
                    operations.push(Operation::Two(Two::MulF, left, a[i], b[j]));
                    operations.push(Operation::Two(Two::MulF, right, a[j], b[i]));
                    operations.push(Operation::Two(Two::SubF, to, left, right));
                    to
                })
                .collect()
        }
        other => panic!("no kernel calls {other:?}"),
    }
}
