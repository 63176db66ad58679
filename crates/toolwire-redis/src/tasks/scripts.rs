//! The scripts of tasks.

use redis::Script;

/// A script of one task. The first line has its flags: without any, the engine rejects it when its memory is used up.
macro_rules! task_script {
    ($first_line:literal, $name:literal) => {
        Script::new(concat!(
            $first_line,
            "\n",
            include_str!("../scripts/tasks/common.lua"),
            include_str!(concat!("../scripts/tasks/", $name, ".lua"))
        ))
    };
}

/// The scripts of tasks, each in its own file.
pub(super) struct TaskScripts {
    pub(super) create: Script,
    pub(super) load: Script,
    pub(super) replace: Script,
    pub(super) take: Script,
    pub(super) set_lease: Script,
    pub(super) end_lease: Script,
    pub(super) remove: Script,
    pub(super) work: Script,
}

impl TaskScripts {
    pub(super) fn new() -> Self {
        Self {
            create: task_script!("#!lua", "create"),
            load: task_script!("#!lua flags=no-writes", "load"),
            replace: task_script!("#!lua", "replace"),
            take: task_script!("#!lua flags=allow-oom", "take"),
            set_lease: task_script!("#!lua flags=allow-oom", "set_lease"),
            end_lease: task_script!("#!lua flags=allow-oom", "end_lease"),
            remove: task_script!("#!lua flags=allow-oom", "remove"),
            work: Script::new(include_str!("../scripts/tasks/work.lua")),
        }
    }
}
