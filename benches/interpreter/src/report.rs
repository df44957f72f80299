//! The report of the interpreter.

use std::collections::{BTreeMap, BTreeSet};

use crate::counts::{Cost, Counts};
use crate::memory::Fault;
use crate::program::Program;
use crate::run::Faults;

/// A fault in a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub kernel: String,
    pub fault: Fault,
    /// The kind of access and the variable.
    pub what: String,
    /// The line of the source, if the source is known.
    pub line: String,
}

/// The costs of all dispatches of a kernel.
#[derive(Clone, Debug, Default)]
pub struct KernelCost {
    pub dispatches: u64,
    pub workgroups: u64,
    /// The most rounds of a dispatch: workgroups that began, and rounds of loops.
    pub most_rounds: u64,
    pub operations: u64,
    /// The most waits of a workgroup.
    pub waits: u64,
    /// The most waits of a workgroup, added up over dispatches.
    pub chain: u64,
    /// The waits of all workgroups.
    pub all_waits: u64,
    /// Dispatches with at least one workgroup.
    pub busy: u64,
    /// Invocations of a workgroup.
    pub invocations: u64,
    /// The barriers of all workgroups.
    pub barriers: u64,
    /// By kind of access, variable and line.
    pub sites: BTreeMap<(String, String), Cost>,
    pub total: Cost,
}

/// The findings of the interpreter since the last report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The findings, each with its count.
    pub findings: BTreeMap<Finding, u64>,
    pub kernels: BTreeMap<String, KernelCost>,
    /// The kernels that ran with at least one workgroup.
    pub ran: BTreeSet<String>,
}

impl Report {
    pub(crate) fn add(
        &mut self,
        program: &Program,
        text: &str,
        groups: u64,
        rounds: u64,
        faults: &Faults,
        counts: &Counts,
    ) {
        if groups > 0 {
            self.ran.insert(program.name.clone());
        }
        let describe = |site: usize| {
            let site = &program.sites[site];
            (site.what.clone(), line_at(text, site.at))
        };
        for (finding, count) in findings(program, text, faults) {
            *self.findings.entry(finding).or_default() += count;
        }
        let kernel = self.kernels.entry(program.name.clone()).or_default();
        kernel.dispatches += 1;
        kernel.workgroups += groups;
        kernel.most_rounds = kernel.most_rounds.max(rounds);
        kernel.operations += counts.operations;
        kernel.waits = kernel.waits.max(counts.waits);
        kernel.chain += counts.waits;
        kernel.all_waits += counts.all_waits;
        kernel.busy += u64::from(groups > 0);
        kernel.invocations = program.lanes as u64;
        kernel.barriers += counts.barriers;
        for (site, cost) in counts.costs.iter().enumerate().filter(|(_, cost)| cost.instructions > 0) {
            kernel.sites.entry(describe(site)).or_default().add(cost);
        }
        kernel.total.add(&counts.total());
    }
}

/// Names a finding in a kernel.
pub(crate) fn findings<'a>(
    program: &'a Program,
    text: &'a str,
    faults: &'a Faults,
) -> impl Iterator<Item = (Finding, u64)> + 'a {
    faults.iter().map(|(&(site, fault), &count)| {
        let site = &program.sites[site];
        let (kernel, what, line) = (program.name.clone(), site.what.clone(), line_at(text, site.at));
        (Finding { kernel, fault, what, line }, count)
    })
}

/// Returns the line of a text that has this byte.
fn line_at(text: &str, at: usize) -> String {
    let at = at.min(text.len());
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next().unwrap_or("").trim().to_owned()
}
