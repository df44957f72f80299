// Compiles HLSL with Direct3D's compiler, with the arguments that wgpu gives it.
//
//   dxc LIBDXCOMPILER TARGET FILE...          (TARGET: cs_6_0)
//
// A file is KERNEL.SWITCHES.ENDING, and KERNEL is the entry point. Prints `ok FILE` or `BAD FILE` with the message. As in
// wgpu, any message is an error. For scripts/compilers.sh; the header comes with the library.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "dxcapi.h"

static std::string message(IDxcResult* result) {
    IDxcBlobUtf8* errors = nullptr;
    if (FAILED(result->GetOutput(DXC_OUT_ERRORS, IID_PPV_ARGS(&errors), nullptr)) || !errors) return "";
    std::string text(errors->GetStringPointer(), errors->GetStringLength());
    errors->Release();
    return text;
}

// Returns the message, empty where the file compiles.
static std::string compile(IDxcCompiler3* compiler, const std::wstring& target, const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return "cannot be read";
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const char* slash = strrchr(path, '/');
    std::string name = slash ? slash + 1 : path;
    name = name.substr(0, name.find('.'));
    std::wstring entry(name.begin(), name.end());
    const wchar_t* arguments[] = {L"-E", entry.c_str(), L"-T", target.c_str(), L"-HV", L"2018", L"-no-warnings",
                                  DXC_ARG_ENABLE_STRICTNESS,
                                  // The library that validates and signs is closed and for Windows.
                                  L"-Vd"};
    DxcBuffer source = {text.data(), text.size(), DXC_CP_UTF8};
    IDxcResult* result = nullptr;
    HRESULT status = compiler->Compile(&source, arguments, std::size(arguments), nullptr, IID_PPV_ARGS(&result));
    if (FAILED(status) || !result) return "the compiler does not answer";
    std::string errors = message(result);
    if (FAILED(result->GetStatus(&status)) || FAILED(status)) errors += " (rejected)";
    result->Release();
    return errors;
}

int main(int count, char** arguments) {
    if (count < 4) {
        fprintf(stderr, "dxc LIBDXCOMPILER TARGET FILE...\n");
        return 2;
    }
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    auto create = reinterpret_cast<DxcCreateInstanceProc>(dlsym(library, "DxcCreateInstance"));
    IDxcCompiler3* compiler = nullptr;
    if (!create || FAILED(create(CLSID_DxcCompiler, IID_PPV_ARGS(&compiler)))) {
        fprintf(stderr, "%s makes no compiler\n", arguments[1]);
        return 2;
    }
    std::wstring target(arguments[2], arguments[2] + strlen(arguments[2]));
    bool is_good = true;
    for (int i = 3; i < count; i++) {
        std::string errors = compile(compiler, target, arguments[i]);
        is_good = is_good && errors.empty();
        // One call, since several of these programs write into one pipe.
        printf("%s %s %.600s\n", errors.empty() ? "ok" : "BAD", arguments[i], errors.c_str());
        fflush(stdout);
    }
    return is_good ? 0 : 1;
}
