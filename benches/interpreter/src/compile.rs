//! From naga's representation of a kernel to a [`Program`].

use std::collections::HashMap;
use std::rc::Rc;

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{
    AddressSpace, Binding, Block, Expression, Function, GatherMode, Handle, Module, ScalarKind, Span, StorageAccess,
    SwitchValue,
};

use crate::compiler::{Compiler, Scope, Value, kind_of};
use crate::expression;
use crate::program::*;
use crate::types::{offsets, words};

/// An atomic: what it points to, what it does, with which value, and its result.
type Atomic = (Handle<Expression>, naga::AtomicFunction, Handle<Expression>, Option<Handle<Expression>>);

/// Compiles the entry point of this name, in a module without overrides. The atomic at `weakened` is compiled as a
/// non-atomic access.
pub fn compile(module: &Module, info: &ModuleInfo, name: &str, weakened: Option<Span>) -> Program {
    let index = module.entry_points.iter().position(|entry| entry.name == name).expect("an entry point of this name");
    let entry = &module.entry_points[index];
    let mut compiler = Compiler {
        module,
        info,
        registers: 0,
        constants: HashMap::new(),
        builtins: Vec::new(),
        globals: HashMap::new(),
        privates: HashMap::new(),
        // A fault of a whole dispatch has no place in the source.
        sites: vec![Site { what: "dispatch".to_owned(), at: 0 }],
        weakened,
    };
    let globals = compiler.globals();
    let arguments = entry.function.arguments.iter().map(|argument| {
        let Some(Binding::BuiltIn(builtin)) = argument.binding else { panic!("an argument that is no builtin") };
        let count = words(module, argument.ty);
        let registers: Rc<[Register]> = (0..count).map(|_| compiler.register()).collect();
        compiler.builtins.extend(registers.iter().zip(0..).map(|(&register, k)| (register, builtin, k)));
        Value::Words(registers)
    });
    let arguments = arguments.collect();
    let mut body = compiler.privates();
    body.extend(compiler.function(&entry.function, info.get_entry_point(index), arguments, Rc::new([])));
    Program {
        name: name.to_owned(),
        lanes: entry.workgroup_size.iter().product::<u32>() as usize,
        registers: compiler.registers as usize,
        constants: compiler.constants.into_iter().map(|(value, register)| (register, value)).collect(),
        builtins: compiler.builtins,
        globals,
        body,
        sites: compiler.sites,
    }
}

impl<'a> Compiler<'a> {
    fn globals(&mut self) -> Vec<Global> {
        let mut globals = Vec::new();
        let shared =
            self.module.global_variables.iter().filter(|(_, variable)| variable.space != AddressSpace::Private);
        for (handle, variable) in shared {
            let bytes = offsets(self.module, &self.module.types[variable.ty].inner).last().map_or(0, |last| last + 4);
            self.globals.insert(handle, globals.len());
            globals.push(Global {
                name: variable.name.clone().unwrap_or_default(),
                binding: variable.binding.as_ref().map(|binding| binding.binding),
                bytes,
                is_uniform: variable.space == AddressSpace::Uniform,
                is_changed: matches!(
                    variable.space,
                    AddressSpace::Storage { access } if access.contains(StorageAccess::STORE)
                ),
            });
            if let AddressSpace::Storage { access } = variable.space {
                assert!(access.contains(StorageAccess::LOAD));
            }
        }
        globals
    }

    /// Assigns registers to private variables, and returns the operations that set them to zero.
    fn privates(&mut self) -> Vec<Statement> {
        let mut body = Vec::new();
        for (handle, variable) in self.module.global_variables.iter() {
            if variable.space != AddressSpace::Private {
                continue;
            }
            assert!(variable.init.is_none(), "a private variable with a value is not known here");
            let (first, count) = (self.registers, words(self.module, variable.ty));
            self.registers += count;
            let to = Pointer { root: Root::Local(first, count), offset: 0, index: None };
            self.privates.insert(handle, to);
            let zero = self.constant(0);
            let (from, offsets) = ((0..count).map(|_| zero).collect(), (0..count).collect());
            body.push(Statement::Operation(Operation::Store { to, from, offsets, site: usize::MAX, is_atomic: false }));
        }
        body
    }

    fn function(
        &mut self,
        function: &'a Function,
        info: &'a FunctionInfo,
        arguments: Vec<Value>,
        results: Rc<[Register]>,
    ) -> Vec<Statement> {
        let values = vec![None; function.expressions.len()];
        let mut scope = Scope { function, info, values, arguments, locals: HashMap::new(), results };
        let mut body = Vec::new();
        for (handle, local) in function.local_variables.iter() {
            let count = words(self.module, local.ty);
            let first = self.registers;
            self.registers += count;
            scope.locals.insert(handle, Pointer { root: Root::Local(first, count), offset: 0, index: None });
            // A variable without a value is zero, each time the function begins.
            let from = match local.init {
                Some(init) => self.constant_value(init, &function.expressions),
                None => vec![0; count as usize],
            };
            let from = from.into_iter().map(|word| self.constant(word)).collect();
            let to = scope.locals[&handle];
            let offsets = (0..count).collect();
            let store = Operation::Store { to, from, offsets, site: usize::MAX, is_atomic: false };
            body.push(Statement::Operation(store));
        }
        body.extend(self.block(&mut scope, &function.body));
        body
    }

    fn block(&mut self, scope: &mut Scope<'a>, block: &'a Block) -> Vec<Statement> {
        let mut body = Vec::new();
        for (statement, span) in block.span_iter() {
            self.statement(scope, statement, *span, &mut body);
        }
        body
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each statement")]
    fn statement(
        &mut self,
        scope: &mut Scope<'a>,
        statement: &'a naga::Statement,
        span: Span,
        body: &mut Vec<Statement>,
    ) {
        use naga::Statement as S;
        match statement {
            S::Emit(range) => {
                for handle in range.clone() {
                    let mut operations = Vec::new();
                    let value = expression::compile(self, scope, handle, &mut operations);
                    scope.values[handle.index()] = Some(value);
                    body.extend(operations.into_iter().map(Statement::Operation));
                }
            }
            S::Block(block) => body.extend(self.block(scope, block)),
            S::If { condition, accept, reject } => body.push(Statement::If {
                condition: self.word(scope, *condition),
                accept: self.block(scope, accept),
                reject: self.block(scope, reject),
            }),
            S::Switch { selector, cases } => {
                let selector = self.word(scope, *selector);
                let cases = cases
                    .iter()
                    .map(|case| Case {
                        value: match case.value {
                            SwitchValue::U32(value) => Some(value),
                            SwitchValue::I32(value) => Some(value as u32),
                            SwitchValue::Default => None,
                        },
                        body: self.block(scope, &case.body),
                        falls_through: case.fall_through,
                    })
                    .collect();
                body.push(Statement::Switch { selector, cases });
            }
            S::Loop { body: inside, continuing, break_if } => {
                let inside = self.block(scope, inside);
                let continuing = self.block(scope, continuing);
                let break_if = break_if.map(|condition| self.word(scope, condition));
                body.push(Statement::Loop { body: inside, continuing, break_if });
            }
            S::Break => body.push(Statement::Break),
            S::Continue => body.push(Statement::Continue),
            S::Return { value } => {
                let values = match value {
                    Some(value) => {
                        scope.results.clone().iter().copied().zip(self.words(scope, *value).iter().copied()).collect()
                    }
                    None => Vec::new(),
                };
                body.push(Statement::Return { values });
            }
            S::Call { function, arguments, result } => {
                let called = &self.module.functions[*function];
                let arguments = arguments.iter().map(|argument| self.value(scope, *argument)).collect();
                let count = called.result.as_ref().map_or(0, |result| words(self.module, result.ty));
                let results: Rc<[Register]> = (0..count).map(|_| self.register()).collect();
                let inside = self.function(called, &self.info[*function], arguments, results.clone());
                if let Some(result) = result {
                    scope.values[result.index()] = Some(Value::Words(results));
                }
                body.push(Statement::Call { body: inside });
            }
            _ => self.effect(scope, statement, span, body),
        }
    }

    /// Compiles a statement that touches memory or other invocations.
    #[expect(clippy::too_many_lines, reason = "an arm for each statement")]
    fn effect(&mut self, scope: &mut Scope<'a>, statement: &naga::Statement, span: Span, body: &mut Vec<Statement>) {
        use naga::Statement as S;
        if let (S::Atomic { pointer, fun, value, result }, true) = (statement, self.weakened == Some(span)) {
            return self.weak_atomic(scope, (*pointer, *fun, *value, *result), span, body);
        }
        let operation = match *statement {
            S::ControlBarrier(barrier) | S::MemoryBarrier(barrier) => {
                let site = self.site("barrier", span);
                if barrier.contains(naga::Barrier::SUB_GROUP) {
                    Operation::SubgroupBarrier { site }
                } else {
                    let (workgroup, storage) =
                        (barrier.contains(naga::Barrier::WORK_GROUP), barrier.contains(naga::Barrier::STORAGE));
                    Operation::Barrier { workgroup, storage, site }
                }
            }
            S::Store { pointer, value } => {
                let (to, offsets, is_atomic) = self.place(scope, pointer);
                let is_atomic = is_atomic && self.weakened != Some(span);
                let from = self.words(scope, value).to_vec();
                let site = self.site(format!("store to {}", self.name_of(to.root)), span);
                Operation::Store { to, from, offsets, site, is_atomic }
            }
            S::Atomic { pointer, fun, value, result } => {
                let (at, ..) = self.place(scope, pointer);
                let compare = match fun {
                    naga::AtomicFunction::Exchange { compare } => compare.map(|compare| self.word(scope, compare)),
                    _ => None,
                };
                assert!(compare.is_none(), "no kernel compares and exchanges");
                // naga gives every atomic a result.
                let result = result.filter(|result| scope.info[*result].ref_count > 0);
                let to = result.map(|result| self.fresh(scope, result, 1)[0]);
                let is_signed = kind_of(self, scope, value) == ScalarKind::Sint;
                let site = self.site(format!("atomic on {}", self.name_of(at.root)), span);
                Operation::Atomic { to, at, function: fun, is_signed, value: self.word(scope, value), compare, site }
            }
            S::WorkGroupUniformLoad { pointer, result } => {
                let (from, offsets, _) = self.place(scope, pointer);
                let to = self.fresh(scope, result, offsets.len()).to_vec();
                let site = self.site(format!("uniform load of {}", self.name_of(from.root)), span);
                Operation::UniformLoad { to, from, offsets, site }
            }
            S::SubgroupBallot { result, predicate } => {
                let predicate = predicate.map(|predicate| self.word(scope, predicate));
                Operation::Ballot { to: self.fresh(scope, result, 4).to_vec(), predicate }
            }
            S::SubgroupGather { ref mode, argument, result } => {
                let from = self.words(scope, argument).to_vec();
                let mode = match *mode {
                    GatherMode::BroadcastFirst => Gather::First,
                    GatherMode::Broadcast(lane) | GatherMode::Shuffle(lane) => Gather::At(self.word(scope, lane)),
                    GatherMode::ShuffleDown(by) => Gather::Down(self.word(scope, by)),
                    GatherMode::ShuffleUp(by) => Gather::Up(self.word(scope, by)),
                    GatherMode::ShuffleXor(by) => Gather::Xor(self.word(scope, by)),
                    ref other => panic!("{other:?}"),
                };
                let site = self.site("shuffle", span);
                Operation::Gather { to: self.fresh(scope, result, from.len()).to_vec(), from, mode, site }
            }
            S::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                let (two, identity) = expression::collective(op, kind_of(self, scope, argument));
                let scan = match collective_op {
                    naga::CollectiveOperation::Reduce => Scan::Reduce,
                    naga::CollectiveOperation::InclusiveScan => Scan::Inclusive,
                    naga::CollectiveOperation::ExclusiveScan => Scan::Exclusive,
                };
                let from = self.words(scope, argument);
                let to = self.fresh(scope, result, from.len());
                body.extend(
                    to.iter()
                        .zip(from.iter())
                        .map(|(&to, &from)| Statement::Operation(Operation::Combine { to, from, two, identity, scan })),
                );
                return;
            }
            ref other => panic!("no kernel has {other:?}"),
        };
        body.push(Statement::Operation(operation));
    }

    /// Compiles an atomic as a load, an operation and a store.
    fn weak_atomic(
        &mut self,
        scope: &mut Scope<'a>,
        (pointer, function, value, result): Atomic,
        span: Span,
        body: &mut Vec<Statement>,
    ) {
        let (at, ..) = self.place(scope, pointer);
        let result = result.filter(|result| scope.info[*result].ref_count > 0);
        let before = match result {
            Some(result) => self.fresh(scope, result, 1)[0],
            None => self.register(),
        };
        let is_signed = kind_of(self, scope, value) == ScalarKind::Sint;
        let value = self.word(scope, value);
        let site = self.site(format!("load of {}", self.name_of(at.root)), span);
        let mut operations =
            vec![Operation::Load { to: vec![before], from: at, offsets: vec![0], site, is_atomic: false }];
        let two = match function {
            naga::AtomicFunction::Add => Some(Two::AddI),
            naga::AtomicFunction::Subtract => Some(Two::SubI),
            naga::AtomicFunction::And => Some(Two::And),
            naga::AtomicFunction::InclusiveOr => Some(Two::Or),
            naga::AtomicFunction::ExclusiveOr => Some(Two::Xor),
            naga::AtomicFunction::Min => Some(if is_signed { Two::MinI } else { Two::MinU }),
            naga::AtomicFunction::Max => Some(if is_signed { Two::MaxI } else { Two::MaxU }),
            naga::AtomicFunction::Exchange { .. } => None,
        };
        let after = two.map_or(value, |two| {
            let after = self.register();
            operations.push(Operation::Two(two, after, before, value));
            after
        });
        let site = self.site(format!("store to {}", self.name_of(at.root)), span);
        operations.push(Operation::Store { to: at, from: vec![after], offsets: vec![0], site, is_atomic: false });
        body.extend(operations.into_iter().map(Statement::Operation));
    }
}
