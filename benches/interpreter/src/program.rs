//! A kernel as the interpreter runs it: operations on registers, each of which holds a word of every invocation.

use naga::{AtomicFunction, BuiltIn};

/// The number of a register.
pub type Register = u32;

/// A kernel of one set of switches.
#[derive(Debug)]
pub struct Program {
    /// The name of the entry point.
    pub name: String,
    /// Invocations of a workgroup.
    pub lanes: usize,
    pub registers: usize,
    /// Registers that never change.
    pub constants: Vec<(Register, u32)>,
    /// Registers that hold a component of a builtin value.
    pub builtins: Vec<(Register, BuiltIn, u32)>,
    pub globals: Vec<Global>,
    pub body: Vec<Statement>,
    /// The places in the source that touch memory. The first is that of the dispatch.
    pub sites: Vec<Site>,
}

/// A variable outside all functions.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    /// The number of its binding; none in workgroup memory.
    pub binding: Option<u32>,
    /// Bytes; of a runtime-sized array, those of one element.
    pub bytes: u32,
    pub is_uniform: bool,
    /// True if the kernel may write to it, in a buffer.
    pub is_changed: bool,
}

/// A place in the source that touches memory, or a barrier.
#[derive(Clone, Debug)]
pub struct Site {
    pub what: String,
    /// The first byte of the place in the source.
    pub at: usize,
}

/// An operation, or a statement that decides which invocations run others.
#[derive(Debug)]
pub enum Statement {
    Operation(Operation),
    If {
        condition: Register,
        accept: Vec<Self>,
        reject: Vec<Self>,
    },
    Switch {
        selector: Register,
        cases: Vec<Case>,
    },
    Loop {
        body: Vec<Self>,
        continuing: Vec<Self>,
        break_if: Option<Register>,
    },
    Break,
    Continue,
    /// Ends a function, and copies the values to the registers of the call.
    Return {
        values: Vec<(Register, Register)>,
    },
    /// A function, compiled anew for each of its calls.
    Call {
        body: Vec<Self>,
    },
}

/// A case of a switch.
#[derive(Debug)]
pub struct Case {
    /// None is the default.
    pub value: Option<u32>,
    pub body: Vec<Statement>,
    pub falls_through: bool,
}

/// The target of a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    pub root: Root,
    /// In bytes, or in components of a local variable.
    pub offset: u32,
    /// A register that is added to the offset.
    pub index: Option<Register>,
}

/// The variable that a pointer points into.
#[derive(Clone, Copy, Debug)]
pub enum Root {
    Global(usize),
    /// The first register and the number of components.
    Local(Register, u32),
}

/// An operation of all active invocations at once. Registers that are written come first.
#[derive(Debug)]
pub enum Operation {
    One(One, Register, Register),
    Two(Two, Register, Register, Register),
    Three(Three, Register, Register, Register, Register),
    /// Selects one of several registers by an index.
    Pick {
        to: Register,
        from: Vec<Register>,
        index: Register,
    },
    /// `to = base + index * stride`; an index of `length` or more points far outside.
    Step {
        to: Register,
        base: Option<Register>,
        index: Register,
        stride: u32,
        length: Option<u32>,
    },
    /// The number of elements of a runtime-sized array.
    Length {
        to: Register,
        global: usize,
        offset: u32,
        stride: u32,
    },
    /// Loads components, which lie at these offsets from the pointer.
    Load {
        to: Vec<Register>,
        from: Pointer,
        offsets: Vec<u32>,
        site: usize,
        is_atomic: bool,
    },
    Store {
        to: Pointer,
        from: Vec<Register>,
        offsets: Vec<u32>,
        site: usize,
        is_atomic: bool,
    },
    Atomic {
        to: Option<Register>,
        at: Pointer,
        function: AtomicFunction,
        /// For signed numbers.
        is_signed: bool,
        value: Register,
        compare: Option<Register>,
        site: usize,
    },
    Barrier {
        workgroup: bool,
        storage: bool,
        site: usize,
    },
    /// A barrier, a load that is the same for all, and a barrier.
    UniformLoad {
        to: Vec<Register>,
        from: Pointer,
        offsets: Vec<u32>,
        site: usize,
    },
    SubgroupBarrier {
        site: usize,
    },
    Ballot {
        to: Vec<Register>,
        predicate: Option<Register>,
    },
    /// Each invocation takes the value of another one of its subgroup.
    Gather {
        to: Vec<Register>,
        from: Vec<Register>,
        mode: Gather,
        site: usize,
    },
    /// Combines the values of a subgroup.
    Combine {
        to: Register,
        from: Register,
        two: Two,
        identity: u32,
        scan: Scan,
    },
}

/// The invocation whose value is taken.
#[derive(Clone, Copy, Debug)]
pub enum Gather {
    First,
    At(Register),
    Down(Register),
    Up(Register),
    Xor(Register),
}

/// The part of a combination that an invocation gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    Reduce,
    Inclusive,
    Exclusive,
}

/// A function of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum One {
    Copy,
    NegateF,
    NegateI,
    Not,
    Complement,
    AbsF,
    AbsI,
    Ceil,
    Floor,
    Round,
    Trunc,
    Fract,
    Sqrt,
    InverseSqrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Sin,
    Cos,
    SignF,
    SignI,
    TrailingZeros,
    LeadingZeros,
    Ones,
    Reverse,
    LowestBit,
    HighestBitU,
    HighestBitI,
    FromFToU,
    FromFToI,
    FromUToF,
    FromIToF,
    ToBool,
    FToBool,
}

/// A function of two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Two {
    AddF,
    AddI,
    SubF,
    SubI,
    MulF,
    MulI,
    DivF,
    DivU,
    DivI,
    RemF,
    RemU,
    RemI,
    EqualF,
    Equal,
    LessF,
    LessU,
    LessI,
    LessEqualF,
    LessEqualU,
    LessEqualI,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRightU,
    ShiftRightI,
    MinF,
    MinU,
    MinI,
    MaxF,
    MaxU,
    MaxI,
    Pow,
}

/// A function of three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Three {
    /// The first decides between the second and the third.
    Select,
    Fma,
    ExtractU,
    ExtractI,
}
