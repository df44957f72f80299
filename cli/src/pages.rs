//! `broadsweep completions` and `broadsweep man`: the command line, written for shells and for `man`.

use std::io;

use anyhow::Result;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::exit_codes;
use crate::output::print;

/// Print the completions for a shell
///
/// bash: `source <(broadsweep completions bash)`. The README of the command line lists the other shells.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the man page, with all commands
///
/// To read it: `broadsweep man > broadsweep.1`, then `man ./broadsweep.1`.
#[derive(clap::Args)]
pub struct ManArgs {}

/// Runs `broadsweep completions`.
pub fn print_completions(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Args::command(), "broadsweep", &mut script);
    print(&String::from_utf8(script)?)
}

/// Runs `broadsweep man`.
pub fn print_man() -> Result<()> {
    let mut command = crate::Args::command().disable_help_subcommand(true);
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    write_exit_status(&mut page)?;
    write_subcommands(&mut page, &command)?;
    print(&String::from_utf8(page)?)
}

fn write_exit_status(page: &mut Vec<u8>) -> io::Result<()> {
    let mut section = Roff::new();
    section.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit_codes::ALL {
        section.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    section.to_writer(page)
}

/// Writes a section for each command, with the sections of the command's own page one level below.
fn write_subcommands(page: &mut Vec<u8>, command: &Command) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let man = Man::new(subcommand.clone());
        let mut sections = Vec::new();
        man.render_synopsis_section(&mut sections)?;
        man.render_description_section(&mut sections)?;
        man.render_options_section(&mut sections)?;
        let name = subcommand.get_bin_name().unwrap_or(subcommand.get_name());
        Roff::new().control("SH", [name]).to_writer(page)?;
        page.extend(String::from_utf8(sections)?.replace("\n.SH ", "\n.SS ").into_bytes());
        write_subcommands(page, subcommand)?;
    }
    Ok(())
}
