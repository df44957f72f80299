//! The compiled part of a kernel, and the values of its expressions.

use std::collections::HashMap;
use std::rc::Rc;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Arena, Expression, Function, GlobalVariable, Handle, Literal, Module, ScalarKind, Span, Type, TypeInner};

use crate::program::{Pointer, Register, Root, Site};
use crate::types::{inner, offsets, words};

/// The value of an expression: the registers of its components, or the target of a pointer.
#[derive(Clone)]
pub enum Value {
    Words(Rc<[Register]>),
    Pointer(Pointer),
}

/// The part that is compiled so far.
pub struct Compiler<'a> {
    pub module: &'a Module,
    pub info: &'a ModuleInfo,
    pub registers: Register,
    pub constants: HashMap<u32, Register>,
    pub builtins: Vec<(Register, naga::BuiltIn, u32)>,
    pub globals: HashMap<Handle<GlobalVariable>, usize>,
    /// Variables that each invocation has to itself, for all functions.
    pub privates: HashMap<Handle<GlobalVariable>, Pointer>,
    pub sites: Vec<Site>,
    /// The place of an atomic that is compiled as a non-atomic access.
    pub weakened: Option<Span>,
}

/// A function that is compiled for one of its calls.
pub struct Scope<'a> {
    pub function: &'a Function,
    pub info: &'a FunctionInfo,
    pub values: Vec<Option<Value>>,
    pub arguments: Vec<Value>,
    pub locals: HashMap<Handle<naga::LocalVariable>, Pointer>,
    pub results: Rc<[Register]>,
}

impl<'a> Compiler<'a> {
    pub fn register(&mut self) -> Register {
        self.registers += 1;
        self.registers - 1
    }

    /// Returns the register that holds this word.
    pub fn constant(&mut self, word: u32) -> Register {
        if let Some(&register) = self.constants.get(&word) {
            return register;
        }
        let register = self.register();
        self.constants.insert(word, register);
        register
    }

    pub fn site(&mut self, what: impl Into<String>, span: Span) -> usize {
        let at = span.to_range().map_or(0, |range| range.start);
        self.sites.push(Site { what: what.into(), at });
        self.sites.len() - 1
    }

    /// Returns the name of the variable that a pointer points into.
    pub fn name_of(&self, root: Root) -> String {
        match root {
            Root::Local(..) => "a local variable".to_owned(),
            Root::Global(global) => {
                let handle = self.globals.iter().find(|(_, index)| **index == global).map(|(handle, _)| *handle);
                let handle = handle.expect("a global");
                self.module.global_variables[handle].name.clone().unwrap_or_default()
            }
        }
    }

    /// Returns the target of a pointer, the places of its words, and whether it is atomic.
    pub fn place(&mut self, scope: &mut Scope<'a>, pointer: Handle<Expression>) -> (Pointer, Vec<u32>, bool) {
        let Value::Pointer(to) = self.value(scope, pointer) else { panic!("no pointer") };
        let (mut offsets, is_atomic) = match *inner(self.module, &scope.info[pointer].ty) {
            TypeInner::Pointer { base, .. } => {
                let pointee = &self.module.types[base].inner;
                (offsets(self.module, pointee), matches!(pointee, TypeInner::Atomic(_)))
            }
            TypeInner::ValuePointer { size, .. } => {
                ((0..size.map_or(1, |size| size as u32)).map(|k| 4 * k).collect(), false)
            }
            ref other => panic!("{other:?} is no pointer"),
        };
        if let Root::Local(..) = to.root {
            offsets = (0..offsets.len() as u32).collect();
        }
        (to, offsets, is_atomic)
    }

    /// Assigns new registers to an expression.
    pub fn fresh(&mut self, scope: &mut Scope<'a>, handle: Handle<Expression>, count: usize) -> Rc<[Register]> {
        let registers: Rc<[Register]> = (0..count).map(|_| self.register()).collect();
        scope.values[handle.index()] = Some(Value::Words(registers.clone()));
        registers
    }

    /// Returns the value of an expression.
    pub fn value(&mut self, scope: &mut Scope<'a>, handle: Handle<Expression>) -> Value {
        if let Some(value) = &scope.values[handle.index()] {
            return value.clone();
        }
        let value = match scope.function.expressions[handle] {
            Expression::FunctionArgument(index) => scope.arguments[index as usize].clone(),
            Expression::GlobalVariable(variable) if self.privates.contains_key(&variable) => {
                Value::Pointer(self.privates[&variable])
            }
            Expression::GlobalVariable(variable) => {
                Value::Pointer(Pointer { root: Root::Global(self.globals[&variable]), offset: 0, index: None })
            }
            Expression::LocalVariable(variable) => Value::Pointer(scope.locals[&variable]),
            _ => {
                let words = self.constant_value(handle, &scope.function.expressions);
                Value::Words(words.into_iter().map(|word| self.constant(word)).collect())
            }
        };
        scope.values[handle.index()] = Some(value.clone());
        value
    }

    /// Returns the registers of an expression.
    pub fn words(&mut self, scope: &mut Scope<'a>, handle: Handle<Expression>) -> Rc<[Register]> {
        match self.value(scope, handle) {
            Value::Words(words) => words,
            Value::Pointer(pointer) => panic!("{pointer:?} is no value"),
        }
    }

    /// Returns the register of an expression of one word.
    pub fn word(&mut self, scope: &mut Scope<'a>, handle: Handle<Expression>) -> Register {
        self.words(scope, handle)[0]
    }

    /// Returns the words of a constant expression.
    pub fn constant_value(&self, handle: Handle<Expression>, arena: &Arena<Expression>) -> Vec<u32> {
        match arena[handle] {
            Expression::Literal(literal) => vec![match literal {
                Literal::F32(value) => value.to_bits(),
                Literal::U32(value) => value,
                Literal::I32(value) => value as u32,
                Literal::Bool(value) => u32::from(value),
                other => panic!("{other:?}"),
            }],
            Expression::Constant(constant) => {
                self.constant_value(self.module.constants[constant].init, &self.module.global_expressions)
            }
            Expression::ZeroValue(ty) => vec![0; words(self.module, ty) as usize],
            Expression::Compose { ref components, .. } => {
                components.iter().flat_map(|component| self.constant_value(*component, arena)).collect()
            }
            Expression::Splat { size, value } => self.constant_value(value, arena).repeat(size as usize),
            ref other => panic!("{other:?} is no constant"),
        }
    }

    /// Returns the number of words of a type.
    pub fn count(&self, ty: Handle<Type>) -> u32 {
        words(self.module, ty)
    }
}

/// Returns the kind of the numbers of an expression.
pub fn kind_of(compiler: &Compiler<'_>, scope: &Scope<'_>, handle: Handle<Expression>) -> ScalarKind {
    crate::types::kind(inner(compiler.module, &scope.info[handle].ty))
}
