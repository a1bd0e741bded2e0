pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositoriesMode = RepositoriesMode.FAIL_ON_PROJECT_REPOS
    repositories {
        google()
        mavenCentral()
        maven(url = uri("../dist/maven")) // What `make android` wrote.
    }
}

rootProject.name = "retvec-lite-demo"
include(":app", ":retvec-lite", ":retvec-lite-litert")
for (library in listOf("retvec-lite", "retvec-lite-litert")) project(":$library").projectDir = file("../android/$library")
